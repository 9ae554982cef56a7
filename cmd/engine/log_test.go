package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// lines gives the lines of a log in JSON with a message.
func (e *engine) lines(message string) (found []map[string]any) {
	e.t.Helper()
	for line := range strings.Lines(e.log.String()) {
		var fields map[string]any
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &fields) != nil {
			continue // being written
		}
		if fields["msg"] == message {
			found = append(found, fields)
		}
	}
	return found
}

// says waits until a text is in the log.
func (e *engine) says(text string) {
	e.t.Helper()
	eventually(e.t, "the log lacks: "+text, func() bool { return strings.Contains(e.log.String(), text) })
}

// await waits for a number of such lines, since what a process writes comes a moment later, and asserts that there
// are no more.
func (e *engine) await(message string, n int) (found []map[string]any) {
	e.t.Helper()
	eventually(e.t, "the log lacks: "+message, func() bool {
		found = e.lines(message)
		return len(found) >= n
	})
	require.Len(e.t, found, n)
	return found
}

// awaitLine waits for a line of a message in which a key has a value.
func (e *engine) awaitLine(message, key string, value any) (line map[string]any) {
	e.t.Helper()
	eventually(e.t, fmt.Sprintf("the log lacks: %s %s=%v", message, key, value), func() bool {
		lines := e.lines(message)
		at := slices.IndexFunc(lines, func(l map[string]any) bool { return l[key] == value })
		if at >= 0 {
			line = lines[at]
		}
		return at >= 0
	})
	return line
}

func TestTheLogTellsWhatWasDone(t *testing.T) {
	t.Parallel()
	box, addr, open := closedMailbox(t)
	data := t.TempDir()
	e := start(t, with(known, mailTo(addr), []string{"Log__Format=json", "Alerting__Routes__Critical=email"}), "-demo", "-data", data)
	run(t, nil, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	s, vera := e.admin(), e.login("vera", password)
	s.good("sim.counter")

	_, err := vera.grpc.WriteTag(vera.rpc(), &platformv1.WriteTagRequest{DriverId: "sim", Address: "speed", Value: "1"})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	value := "1"
	answer, err := vera.WriteTagWithResponse(t.Context(), "sim", "speed", nil, client.WriteRequest{Value: &value})
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, answer.StatusCode())
	request := func(path string) (found map[string]any) {
		eventually(t, "there is no line for "+path, func() bool {
			for _, line := range e.lines("request") {
				if line["path"] == path {
					found = line
				}
			}
			return found != nil
		})
		return found
	}
	call, rest := request("/platform.v1.PlatformApi/WriteTag"), request("/api/v1/tags/sim/speed/write")
	require.Equal(t, "PermissionDenied", call["status"])
	require.InDelta(t, 403, rest["status"], 0)
	for _, line := range []map[string]any{call, rest} {
		require.Equal(t, "vera", line["subject"])
		require.NotEmpty(t, line["traceId"])
		require.NotEmpty(t, line["remote"])
		_, err := time.ParseDuration(line["duration"].(string))
		require.NoError(t, err, "it has a unit")
	}

	id := s.write("sim", "speed", "1234", true)
	s.settled(id)
	written := e.await("tag write", 1)
	require.Equal(t, []any{id, "sim.speed", "1234", "admin", "Confirmed"}, []any{written[0]["write"], written[0]["tag"], written[0]["value"], written[0]["by"], written[0]["state"]})

	a := alert("critical", "pump-1", "Too hot")
	e.told(a)
	raised := e.awaitLine("alarm raised", "source", "pump-1") // the demo raises alarms, too
	require.Equal(t, "Critical", raised["severity"])
	eventually(t, "the channel does not fail", func() bool {
		_, r := e.report("/health")
		figures, _ := r.Results["alerting"].Data["email"].(map[string]any)
		failed, _ := figures["failedAttempts"].(float64)
		return failed >= 3
	})
	notSent := e.awaitLine("failed to send message; retrying", "alarm", raised["alarm"])
	open()
	eventually(t, "no mail comes", func() bool { return len(box.got()) > 0 })
	again := e.awaitLine("sending messages resumed", "channel", "email")
	require.Equal(t, []any{raised["alarm"], notSent["delivery"]}, []any{again["alarm"], again["delivery"]})
	a.Status, a.EndsAt = "resolved", time.Now().UTC()
	e.told(a)
	e.awaitLine("alarm cleared", "alarm", raised["alarm"])
}

package main_test

import (
	"encoding/json"
	"net/http"
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
	raised := e.await("alarm raised", 1)[0]
	require.Equal(t, "pump-1", raised["source"])
	require.Equal(t, "Critical", raised["severity"])
	eventually(t, "the channel does not fail", func() bool {
		_, r := e.report("/health")
		figures, _ := r.Results["alerting"].Data["email"].(map[string]any)
		failed, _ := figures["failedAttempts"].(float64)
		return failed >= 3
	})
	notSent := e.await("failed to send message; retrying", 1) // the same warning is written once a minute
	require.Equal(t, raised["alarm"], notSent[0]["alarm"])
	open()
	eventually(t, "no mail comes", func() bool { return len(box.got()) > 0 })
	again := e.await("sending messages resumed", 1)[0]
	require.Equal(t, []any{"email", raised["alarm"], notSent[0]["delivery"]}, []any{again["channel"], again["alarm"], again["delivery"]})
	a.Status, a.EndsAt = "resolved", time.Now().UTC()
	e.told(a)
	require.Equal(t, raised["alarm"], e.await("alarm cleared", 1)[0]["alarm"])
}

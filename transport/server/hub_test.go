package server_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/internal/npmtest"
)

// listener is a process with the stock client.
type listener struct {
	t     testing.TB
	lines *bufio.Scanner
}

func (p *platform) listen(path, transport, token string) listener {
	p.t.Helper()
	return p.listenIn("json", path, transport, token)
}

// listenIn starts a client that makes calls, each a method and its arguments, when it has connected.
func (p *platform) listenIn(protocol, path, transport, token string, calls ...[]any) listener {
	p.t.Helper()
	options := jsonText(p.t, map[string]any{"url": p.url + path, "transport": transport, "token": token, "protocol": protocol, "invoke": calls})
	packages := npmtest.Need(p.t, "@microsoft/signalr@10.0.11", "@microsoft/signalr-protocol-msgpack@10.0.11")
	cmd := npmtest.Command(p.t, packages, "testdata/hub.cjs", options)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(p.t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	late := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() }) // ends the wait for an event
	p.t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
		late.Stop()
	})
	return listener{p.t, bufio.NewScanner(stdout)}
}

// await returns the arguments of the next event of a name; the statistics of every second may come in between, and
// events of the names in between.
func (l listener) await(name string, between ...string) []any {
	l.t.Helper()
	for l.lines.Scan() {
		var e struct {
			Event string `json:"event"`
			Args  []any  `json:"args"`
		}
		require.NoError(l.t, json.Unmarshal(l.lines.Bytes(), &e))
		if name != e.Event && (e.Event == "OnIngestionStats" || slices.Contains(between, e.Event)) {
			continue
		}
		require.Equal(l.t, name, e.Event, l.lines.Text())
		return e.Args
	}
	require.Fail(l.t, "no event", "waiting for %s: %v", name, l.lines.Err())
	return nil
}

func TestTheAlarmHubTellsTheStockClient(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.token(accounts.Viewer)
	clients := []listener{
		p.listen("/hubs/alarms", "WebSockets", token), p.listen("/hubs/alarms", "ServerSentEvents", token),
		p.listen("/hubs/alarms", "LongPolling", token), p.listen("/hubs/alarms?access_token="+token, "LongPolling", ""),
		p.listenIn("messagepack", "/hubs/alarms", "WebSockets", token), p.listenIn("messagepack", "/hubs/alarms", "LongPolling", token),
	}
	for _, c := range clients {
		c.await("started")
	}
	require.Contains(t, p.listen("/hubs/alarms", "WebSockets", "").await("failed")[0], "401")
	require.Contains(t, p.listen("/hubs/demo", "WebSockets", "").await("failed")[0], "401")

	now := time.Now().UTC()
	made := p.call(nobody, http.MethodPost, silence, map[string]any{"sourceType": "*", "sourceIdPattern": "P-quiet", "reason": "repair",
		"startsAt": now.Add(-time.Hour).Format(time.RFC3339), "endsAt": now.Add(time.Hour).Format(time.RFC3339)})
	require.Equal(t, 201, made.status, "%s", made.body)
	p.raise("quiet", alarms.Critical) // would come first
	o := p.raise("hot", alarms.Critical)
	for _, c := range clients {
		args := c.await("ReceiveAlarm", "OnAlarmChanged")
		require.Len(t, args, 3)
		require.Contains(t, args[0], "hot is wrong")
		require.Equal(t, "Critical", args[1])
		require.WithinDuration(t, o.RaisedAt, sent(t, args[2]), time.Second)
	}
	require.Equal(t, 204, p.call(accounts.Viewer, http.MethodPost, "/api/v1/auth/logout", nil).status)
	for _, c := range clients[:2] { // the one that polls finds out when it polls again
		c.await("closed")
	}
}

func TestTheDemonstrationHub(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"json", "messagepack"} {
		t.Run(protocol, func(t *testing.T) { testDemonstrationHub(t, protocol) })
	}
}

func testDemonstrationHub(t *testing.T, protocol string) {
	t.Helper()
	p := start(t)
	c := p.listenIn(protocol, "/hubs/demo", "WebSockets", p.token(accounts.Viewer))
	c.await("started")
	o := p.raise("hot", alarms.Error)
	info := c.await("OnAlarmRaised")[0].(map[string]any)
	require.Equal(t, o.ID, info["id"])
	require.Equal(t, "Critical", info["severity"])
	require.Equal(t, true, info["isActive"])
	require.Nil(t, info["acknowledgedBy"])
	stats := c.await("OnIngestionStats")[0].(map[string]any)
	require.EqualValues(t, 4, stats["drivers"])
	require.Positive(t, stats["totalSamples"])
	require.Contains(t, stats, "tagsPerSecond")
	require.WithinDuration(t, time.Now(), sent(t, stats["timestamp"]), time.Minute)
}

package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
)

func TestTheConsoleHub(t *testing.T) {
	t.Parallel()
	p := start(t)
	token := p.token(accounts.Viewer)
	require.Contains(t, p.listen("/hubs/console", "WebSockets", "").await("failed")[0], "401")
	name := "line.level"
	calls := [][]any{{"Alarms", ""}, {"Tags", []string{name, "no.such.tag"}, 50}, {"Alarms", "999999-00000000"}}
	clients := []listener{
		p.listenIn("json", "/hubs/console", "WebSockets", token, calls...), p.listenIn("json", "/hubs/console", "ServerSentEvents", token, calls...),
		p.listenIn("json", "/hubs/console", "LongPolling", token, calls...), p.listenIn("messagepack", "/hubs/console", "WebSockets", token, calls...),
	}
	for _, c := range clients {
		c.await("started")
		require.NotEmpty(t, c.await("answered")[0].(map[string]any)["position"])
		require.Equal(t, []any{"no.such.tag"}, c.await("answered", "tags")[0].(map[string]any)["unknown"])
		require.Contains(t, c.await("refused", "tags")[0], "POSITION_GONE")
	}
	o := p.raise("hot", alarms.Critical)
	require.Equal(t, 200, p.call(accounts.Operator, http.MethodPost, "/api/v1/alarms/"+o.ID+"/acknowledge", map[string]any{"comment": "seen"}).status)
	for _, c := range clients {
		var of []any // this alarm
		for len(of) < 6 {
			for _, item := range c.await("alarms", "tags")[0].(map[string]any)["items"].([]any) {
				if e := item.(map[string]any); e["alarm"].(map[string]any)["id"] == o.ID {
					of = append(of, e["kind"], e["by"], e["comment"])
				}
			}
		}
		require.Equal(t, []any{"raised", "", "", "acknowledged", "operator", "seen"}, of)
	}
	fresh := p.listenIn("json", "/hubs/console", "WebSockets", token, []any{"Tags", []string{name}, 50})
	fresh.await("started")
	value := fresh.await("tags", "answered")[0].([]any)[0].(map[string]any)
	require.Equal(t, name, value["name"])
	require.Contains(t, value, "quality")
	require.Equal(t, 204, p.call(accounts.Viewer, http.MethodPost, "/api/v1/auth/logout", nil).status)
	for _, c := range clients[:2] {
		c.await("closed", "tags")
	}
}

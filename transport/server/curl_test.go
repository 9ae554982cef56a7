package server_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

func TestTheCallsOfTheReadmeWithCurl(t *testing.T) {
	t.Parallel()
	curl := realtest.Need(t, "curl")
	p := start(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), curl, append([]string{"-sS", "--max-time", "5"}, args...)...).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 28 && strings.Contains(strings.Join(args, " "), "-N") {
			err = nil // the stream lasted as long as it was to
		}
		require.NoError(t, err, "%v", args)
		return string(out)
	}
	login := run(p.url+"/api/v1/auth/login", "-H", "Content-Type: application/json", "-d", `{"username":"admin","password":"`+password+`"}`)
	var g grant
	require.NoError(t, json.Unmarshal([]byte(login), &g), login)
	auth := "Authorization: Bearer " + g.AccessToken

	require.Contains(t, run("-H", auth, p.url+"/api/v1/tags/sim.temperature"), `"name":"sim.temperature"`)
	require.Contains(t, run("-H", auth, p.url+"/api/v1/tags?namePattern=sim.%25&pageSize=5"), `"totalCount":9`)
	require.Contains(t, run("-H", auth, "--json", `{"tagNames":["sim.speed"]}`, p.url+"/api/v1/tags:batchRead"), `"sim.speed"`)
	require.Contains(t, run("-H", auth, "--json", `{"value":"70","confirm":true}`, p.url+"/api/v1/tags/sim/setpoint/write"), `"success":true`)
	require.Contains(t, run("-H", auth, "-w", "%{http_code} %{content_type}", p.url+"/api/v1/tags/no.such"), "404 application/problem+json")
	require.Contains(t, run("-I", p.url+"/health"), "200 OK")
	require.Contains(t, run("-X", "OPTIONS", "-i", p.url+"/api/v1/tags:batchRead"), "Allow: OPTIONS, POST")
	require.Contains(t, run("-d", `{"tagNames":[]}`, "-H", auth, "-w", "%{http_code}", p.url+"/api/v1/tags:batchRead"), "415") // curl's form type

	events := run("-N", "--max-time", "1.5", "-H", auth, p.url+"/api/v1/tags/stream?tagNames=sim.pressure,sim.running&throttleMs=50")
	require.True(t, strings.HasPrefix(events, "event: change\ndata: {\"changes\":["), events)
	require.Contains(t, events, `"sim.running"`)
	require.Contains(t, run("-N", "--max-time", "1", p.url+"/api/v1/tags/stream?patterns=line.fl%25&access_token="+g.AccessToken), `"line.flag"`)

	sheet := run(p.url + "/api/v1.0/config/tags/export?format=csv")
	require.Contains(t, sheet, "tagId,driverId,address,dataType")
	dry := run("-H", "Content-Type: text/csv", "--data-binary", sheet, p.url+"/api/v1.0/config/tags/import?dryRun=true")
	require.Contains(t, dry, `"dryRun":true,"count":0`)
}

package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
)

// The steps of docs/discovery.md, with the bridge on another machine and no settings: find it, bind it, see its tags, its shell and an
// alarm of them.
func TestNewcomersPath(t *testing.T) {
	t.Parallel()
	build(t)
	if !realtest.Isolated(t) {
		return
	}
	n := realtest.NewNetwork(t)
	n.Cable(t, "near0", "10.79.0.1/24", "far0", "10.79.0.2/24")
	p := &plant{t: t}
	p.engine = start(t, here, "engine", "10.79.0.1:5001", []string{"Auth__AdminPassword=" + password}, "-data", t.TempDir())
	p.bridge = start(t, n.Args, "bridge", "10.79.0.2:5100", nil, "-data", t.TempDir())
	p.login()

	code := regexp.MustCompile(`"setupCode": "(\w+)"`).FindStringSubmatch(p.bridge.log.String())
	require.NotEmpty(t, code, "%s", p.bridge.log)
	p.post("/api/bridge/auth/setup", fmt.Sprintf(`{"username": "admin", "password": %q, "setupCode": %q}`, password, code[1]), &struct{}{})
	seconds, excludeBound := 1, false
	var found []client.BridgeInfo
	eventually(t, "the scan does not find the bridge", func() bool {
		answer, err := p.ScanBridgesWithResponse(t.Context(), &client.ScanBridgesParams{TimeoutSeconds: &seconds, ExcludeBound: &excludeBound})
		require.NoError(t, err)
		require.NotNil(t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
		found = *answer.JSON200
		return len(found) == 1
	})
	require.Equal(t, client.BridgeStatus("Free"), found[0].Status)
	require.Equal(t, "http://10.79.0.2:5100", found[0].BaseURL)

	bound, err := p.BindBridgeWithResponse(t.Context(), client.BindBridgeRequest{BridgeID: found[0].BridgeID, BridgeURL: found[0].BaseURL})
	require.NoError(t, err)
	require.NotNil(t, bound.JSON200, "%s %s", bound.Status(), bound.Body)
	require.NotEmpty(t, bound.JSON200.Manifest.Tags)
	require.Len(t, bound.JSON200.Manifest.Tags, found[0].TagCount)
	name := bound.JSON200.Manifest.DriverID + "." + bound.JSON200.Manifest.Tags[0].Name

	eventually(t, "the tag has no value", func() bool {
		tag, err := p.ReadTagWithResponse(t.Context(), name)
		require.NoError(t, err)
		return tag.JSON200 != nil && tag.JSON200.Tag.Quality == client.Good && !tag.JSON200.Tag.CurrentValue.IsZero()
	})
	driver := bound.JSON200.Manifest.DriverID
	write, err := p.WriteTagWithResponse(t.Context(), driver, "setpoint", nil, client.WriteRequest{Value: new("80")})
	require.NoError(t, err)
	require.NotNil(t, write.JSON200, "%s %s", write.Status(), write.Body)
	eventually(t, "the temperature does not follow the setpoint", func() bool {
		points := p.points(driver + ".temperature")
		if len(points) == 0 {
			return false
		}
		degrees, _ := points[len(points)-1].Value.Float()
		return degrees > 65
	})
	eventually(t, "there is no shell", func() bool {
		shells, err := p.ListShellsWithResponse(t.Context(), &client.ListShellsParams{})
		require.NoError(t, err)
		return strings.Contains(string(shells.Body), found[0].BridgeID)
	})
	eventually(t, "the scan does not see that the bridge is bound", func() bool {
		answer, err := p.ScanBridgesWithResponse(t.Context(), &client.ScanBridgesParams{TimeoutSeconds: &seconds, ExcludeBound: &excludeBound})
		require.NoError(t, err)
		return answer.JSON200 != nil && len(*answer.JSON200) == 1 && (*answer.JSON200)[0].Status == client.BridgeStatus("Bound")
	})
	rule, err := p.AddAlarmRuleWithResponse(t.Context(), client.AlarmRuleRequest{Rule: rules.Rule{ID: "high", Tag: name, Kind: rules.High, Limit: -1e9, Severity: alarms.Warning, Enabled: true}})
	require.NoError(t, err)
	require.NotNil(t, rule.JSON201, "%s %s", rule.Status(), rule.Body)
	p.alarm(name)
	p.bridge.kill()
	p.alarm(found[0].BridgeID)
}

package main_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

const mappingConfig = `
drivers:
  - id: line1
    type: Simulation
    settings: {DeviceCount: 1, TagsPerDevice: 3, Scenario: Ramp, PeriodMs: 1000, UpdateIntervalMs: 50}
aas:
  mappings:
    - {shell: "urn:line:1", tags: ["line1.%%"], equipmentCategory: Line}
  rules:
    - {equipmentCategory: line, name: "%%tag2", submodel: OperationalData, collection: Rates, idShort: Rate, semanticId: "urn:rate"}
  events: {url: "mqtt://127.0.0.1:%d", topic: plant/aas, clientId: engine-1}
`

// TestTagsBecomeSubmodels maps tags by settings to a shell that comes later, and follows the changes
// with a stock MQTT client.
func TestTagsBecomeSubmodels(t *testing.T) {
	t.Parallel()
	broker, port := realtest.Need(t, "mosquitto", "/usr/sbin/mosquitto"), realtest.FreePort(t)
	listener := realtest.Need(t, "mosquitto_sub")
	config := file(t, "mosquitto.conf", fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\n", port))
	server := exec.CommandContext(t.Context(), broker, "-c", config)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Wait() })

	e := start(t, known, "-config", file(t, "engine.yaml", fmt.Sprintf(mappingConfig, port)), "-data", t.TempDir())
	events := listen(t, listener, port)
	eventually(t, "the engine does not reach the broker", func() bool {
		return strings.Contains(e.log.String(), "connected to the MQTT broker")
	})
	s := e.admin()
	s.good("line1.device1.tag1")
	s.standard(http.MethodPost, "/api/v3.1/shells",
		`{"modelType":"AssetAdministrationShell","id":"urn:line:1","idShort":"Line1","assetInformation":{"assetKind":"Instance","globalAssetId":"urn:asset:line"}}`)
	eventually(t, "the tags are not mapped", func() bool {
		return strings.Contains(s.standard(http.MethodGet, "/api/v1/aas/urn:line:1/submodels", ""), `"urn:line:1:TimeSeries"`)
	})
	var got struct {
		Rates map[string]float64
	}
	values := "/api/v3.1/submodels/" + base64.RawURLEncoding.EncodeToString([]byte("urn:line:1:OperationalData")) + "/$value"
	require.NoError(t, json.Unmarshal([]byte(s.standard(http.MethodGet, values, "")), &got))
	require.Contains(t, got.Rates, "Rate")

	seen := make(map[string]bool)
	for len(seen) < 2 {
		var event struct {
			Type string
			Data struct{ Kind, ID string }
		}
		select {
		case text := <-events:
			require.NoError(t, json.Unmarshal([]byte(text), &event))
		case <-time.After(patience):
			t.Fatal("not every change is published")
		}
		if event.Type == "io.admin-shell.events.v1.created" && (event.Data.ID == "urn:line:1" || event.Data.ID == "urn:line:1:OperationalData") {
			seen[event.Data.Kind] = true
		}
	}
	require.Equal(t, map[string]bool{"shell": true, "submodel": true}, seen)
	e.stop()
}

// listen gives the messages below plant/aas once the subscription stands.
func listen(t *testing.T, program string, port int) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "stdbuf", "-oL", program, "-h", "127.0.0.1", "-p", fmt.Sprint(port), "-t", "plant/aas/#", "-V", "mqttv5", "-q", "1", "-d")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, ready := make(chan string, 1000), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			switch line := scan.Text(); {
			case strings.HasPrefix(line, "Subscribed"):
				close(ready)
			case strings.HasPrefix(line, "{"):
				lines <- line
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = cmd.Wait()
	})
	select {
	case <-ready:
	case <-time.After(patience):
		t.Fatal("the client does not subscribe")
	}
	return lines
}

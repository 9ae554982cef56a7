package main_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// peakMemory returns the most memory that the engine ever had, in MiB.
func (e *engine) peakMemory() int {
	e.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.cmd.Process.Pid))
	require.NoError(e.t, err)
	for line := range strings.Lines(string(text)) {
		var kB int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kB); n == 1 {
			return kB >> 10
		}
	}
	require.Fail(e.t, "no VmHWM")
	return 0
}

// Whoever reaches the webhook must not be able to fill the memory with what lists show.
func TestManyHugeAlertsDoNotFillTheMemory(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, known, "-data", data)
	huge := strings.Repeat("x", 7<<20)
	alerts := 60
	if raceDetector { // 2 s each
		alerts = 20
	}
	for n := range alerts {
		text := fmt.Sprintf(`{"receiver":%q,"externalURL":%q,"groupKey":%q,"alerts":[{"status":"firing","labels":{"alertname":"Huge","severity":"critical","n":"%d","l":%q},
			"annotations":{"summary":%q},"startsAt":%q}]}`, huge[:1<<18], huge[:1<<18], huge[:1<<18], n, huge[:6<<20], huge[:1<<18], time.Now().UTC().Format(time.RFC3339Nano))
		answer, err := http.Post(e.url+"/api/v1.0/alertsource/webhook", "application/json", strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, body(t, answer.Body))
	}
	posted := e.peakMemory()
	for range 2 { // also by an engine that has started again
		s := e.admin()
		for _, path := range []string{"/api/v1.0/alert-history?pageSize=100", "/api/v1.0/alert-history?pageSize=7&page=2", "/api/v1/alarms?pageSize=500",
			"/api/v1.0/alarms/active", "/api/v1.0/alert-history/stats/source"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url+path, nil)
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer "+s.token)
			answer, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			n, err := io.Copy(io.Discard, answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusOK, answer.StatusCode)
			require.Less(t, n, int64(4<<20), path)
		}
		page := s.records("")
		require.EqualValues(t, alerts, page.TotalCount)
		require.Len(t, page.Records, alerts)
		require.Equal(t, []string{"labels", "title"}, page.Records[0].Truncated)
		t.Logf("peak memory: %d MiB after the posts, %d MiB after the lists", posted, e.peakMemory())
		require.Less(t, e.peakMemory(), 400)
		e.stop()
		e = start(t, nil, "-data", data)
	}
}

package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// An idle bridge fits beside what else a small machine runs: below 40 MB are resident.
func TestAnIdleBridgeIsSmall(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	b := start(t, nil, "-data", t.TempDir())
	b.call(200, "POST", "/api/bridge/bind", "", map[string]string{"engineId": "e1", "engineUrl": "http://127.0.0.1:9"})
	b.call(200, "GET", "/health", "", nil)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, found)
	kB, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	require.Less(t, kB, 40_000)
	t.Logf("%d kB resident", kB)
}

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkIdleDemo tells what the demo costs while nobody calls it: resident memory and the share of
// a core, over twenty seconds of the real program. Run it with -benchtime 1x.
func BenchmarkIdleDemo(b *testing.B) {
	path, err := builtForSpeed()
	require.NoError(b, err)
	const settle, measure = 20 * time.Second, 20 * time.Second // the first models are trained before
	for b.Loop() {
		e := launch(b, path, with(known, []string{withPumps}), "-demo", "-data", b.TempDir())
		e.ready()
		time.Sleep(settle)
		before := e.cpu()
		time.Sleep(measure)
		b.ReportMetric(100*(e.cpu()-before).Seconds()/measure.Seconds(), "%core")
		b.ReportMetric(e.statusMB("VmRSS"), "MB-resident")
		b.ReportMetric(e.statusMB("VmHWM"), "MB-peak")
		e.stop()
	}
}

// cpu is the processor time that the process has used.
func (e *engine) cpu() time.Duration {
	e.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.cmd.Process.Pid))
	require.NoError(e.t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(f)
		require.NoError(e.t, err)
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100) // the unit of /proc on every Linux that Go runs on
}

func (e *engine) statusMB(field string) float64 {
	e.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.cmd.Process.Pid))
	require.NoError(e.t, err)
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, field+":"); found {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			require.NoError(e.t, err)
			return kb / 1024
		}
	}
	e.t.Fatalf("no %s", field)
	return 0
}

// treeCPU is the processor time of a process and its children, those that have ended included.
func treeCPU(t testing.TB, pid int) (total time.Duration) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		own := filepath.Base(filepath.Dir(path)) == strconv.Itoa(pid)
		if !own && fields[1] != strconv.Itoa(pid) {
			continue
		}
		times := fields[11:13] // utime and stime
		if own {
			times = fields[11:15] // and those of children that have ended
		}
		for _, f := range times {
			n, err := strconv.Atoi(f)
			require.NoError(t, err)
			total += time.Duration(n) * (time.Second / 100)
		}
	}
	return total
}

// loadAverage is how many threads of the machine have wanted a core in the last minute, to tell what else it does.
func loadAverage(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	n, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	require.NoError(t, err)
	return n
}

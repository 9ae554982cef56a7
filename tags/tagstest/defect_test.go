package tagstest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagstest"
)

// defectVariable names the defect that a child process of this test runs a suite on.
const defectVariable = "OTKIT_TAGSTEST_DEFECT"

// TestSuitesFindDefects runs each suite on an implementation with one defect, in a process of its own
// because the suite is meant to fail there, and looks whether the part of it fails that is about the defect.
func TestSuitesFindDefects(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	for defect, part := range map[string]string{
		"driver/connects once":              "ConnectAgain",
		"driver/no ErrNotConnected":         "NotConnected",
		"driver/second Close fails":         "CloseAnyTime",
		"driver/leaves an item unset":       "ReadEach",
		"driver/reads another type":         "ReadEach",
		"driver/shifts the answers":         "ReadInOrder",
		"driver/bad point fails all":        "MissingPoint",
		"driver/reads what is malformed":    "MalformedPoint",
		"driver/loses writes":               "WriteEach",
		"driver/leaves errs unset":          "WriteEach",
		"driver/writes backwards":           "WriteInOrder",
		"driver/takes any write":            "RefusedWrite",
		"driver/ignores its context":        "StallAndResume",
		"driver/cancel kills it":            "CanceledContext",
		"driver/value after the break":      "DisconnectAndReconnect",
		"driver/does not recover":           "DisconnectAndReconnect",
		"driver/lies about stalled writes":  "StallAndResume",
		"driver/vouches for nothing":        "ReadEach",
		"driver/MaxBatch 0":                 "MaxBatch",
		"driver/plan forgets a point":       "Plan",
		"driver/plan settles a point twice": "Plan",
		"driver/plan shifts the answers":    "Plan",
		"driver/plan never ends":            "Plan",
		"driver/plans share their state":    "PlansTogether",
		"driver/plan ignores its context":   "PlanEndedContext",
		"driver/plan reads over the break":  "PlanDisconnect",
		"driver/browses a name twice":       "Browse",
		"driver/checks nothing":             "ValidatePoint",
		"driver/emits late":                 "Subscribe",
		"driver/emits nothing":              "Subscribe",
		"driver/subscribes for ever":        "Subscribe",
		"driver/subscribes over the break":  "SubscribeDisconnect",
		"driver/leaks":                      "NoGoroutineLeft",

		"history/unordered":          "Order",
		"history/end inclusive":      "Bounds",
		"history/start exclusive":    "Bounds",
		"history/milliseconds":       "Precision",
		"history/ints through float": "Values",
		"history/empty is nothing":   "Values",
		"history/no reason":          "Qualities",
		"history/first wins":         "Duplicates",
		"history/folds names":        "AwkwardNames",
		"history/10,000 at most":     "ManySamples",
		"history/keeps the slice":    "CallersSlice",
		"history/ignores contexts":   "CanceledContext",
		"history/trims the limit":    "TrimByAge",
		"history/ignores maxBytes":   "TrimBySize",
		"history/trims the newest":   "TrimBySize",
		"history/locks while yields": "AppendWhileRanging",

		"history/trims the last before the limit": "TrimByAge",
		"history/trims the last by size":          "TrimBySize",

		"history/summaries over cuts":           "Summaries",
		"history/summaries beyond the end":      "Summaries",
		"history/summaries without bad samples": "Summaries",
		"history/summaries without uncertain":   "Summaries",
		"history/summaries of ints as floats":   "Summaries",

		"writelog/wrong error":        "Empty",
		"writelog/no error text":      "States",
		"writelog/completed at once":  "States",
		"writelog/ints through float": "Values",
		"writelog/keeps the first":    "Replace",
		"writelog/keeps the slice":    "CallersSlice",
		"writelog/ignores contexts":   "CanceledContext",

		"writelog/lists the oldest first":  "ListOrder",
		"writelog/lists by time alone":     "ListOrder",
		"writelog/lists the end":           "ListFilters",
		"writelog/lists one state":         "ListFilters",
		"writelog/lists users in any case": "ListFilters",
		"writelog/ignores addresses":       "ListFilters",
		"writelog/counts the page":         "ListPages",
		"writelog/lists what is stored":    "ListLive",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(program, "-test.run=^TestDefect$/^"+part+"$", "-test.timeout=60s")
			child.Env = append(os.Environ(), defectVariable+"="+defect)
			out, err := child.CombinedOutput()
			require.Error(t, err, "the suite finds nothing wrong")
			require.Contains(t, string(out), "--- FAIL: TestDefect/"+part+" ", "the suite fails, but not because of the defect:\n%s", out)
		})
	}
}

// TestDefect is what the child process runs.
func TestDefect(t *testing.T) {
	suite, defect, found := strings.Cut(os.Getenv(defectVariable), "/")
	if !found {
		t.Skip("runs in a child process of TestSuitesFindDefects only")
	}
	switch suite {
	case "driver":
		tagstest.TestDriver(t, memHarness(defect))
	case "history":
		tagstest.TestHistoryStore(t, func(testing.TB) history.Store { return &memSummaries{memHistory{defect: defect}} })
	case "writelog":
		tagstest.TestWriteLog(t, func(testing.TB) tags.WriteLog { return &memWriteLog{defect: defect} })
	}
}

func TestSuitesPassWithoutDefects(t *testing.T) {
	t.Run("Driver", func(t *testing.T) { tagstest.TestDriver(t, memHarness("")) })
	t.Run("HistoryStore", func(t *testing.T) {
		tagstest.TestHistoryStore(t, func(testing.TB) history.Store { return &memSummaries{} })
	})
	t.Run("WriteLog", func(t *testing.T) {
		tagstest.TestWriteLog(t, func(testing.TB) tags.WriteLog { return &memWriteLog{} })
	})
}

func BenchmarkMemory(b *testing.B) {
	b.Run("Driver", func(b *testing.B) { tagstest.BenchmarkDriver(b, memHarness("")) })
	b.Run("HistoryStore", func(b *testing.B) {
		tagstest.BenchmarkHistoryStore(b, func(testing.TB) history.Store { return &memHistory{} })
	})
}

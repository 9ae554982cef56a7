package alarmstest_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/alarmstest"
)

// defectVariable names the defect that a child process of this test runs the suite on.
const defectVariable = "OTKIT_ALARMSTEST_DEFECT"

// TestSuiteFindsDefects runs the suite on stores with one defect each, in a process of its own because
// the suite is meant to fail there, and checks that the part that is about the defect fails.
func TestSuiteFindsDefects(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	for defect, part := range map[string]string{
		"no isolation":        "ParallelRaises",
		"keeps failed writes": "Atomic",
		"orders by number":    "Order",
		"end inclusive":       "TimeRanges",
		"counts the page":     "Paging",
		"shows suppressed":    "Filters",
		"forgets labels":      "RoundTrip",
		"ignores contexts":    "CanceledContext",
		"trims active ones":   "Trim",
		"newest by time":      "Resolutions",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestDefect$", "-test.v")
			cmd.Env = append(os.Environ(), defectVariable+"="+defect)
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "the suite passes")
			require.Contains(t, string(out), "--- FAIL: TestDefect/"+part, "the part about it passes")
		})
	}
}

// TestDefect is what the child processes run.
func TestDefect(t *testing.T) {
	name := os.Getenv(defectVariable)
	if name == "" {
		t.Skip("it is for TestSuiteFindsDefects")
	}
	alarmstest.TestStore(t, func(testing.TB) (alarms.Store, func() alarms.Store) {
		return &defective{alarms.NewMemory(), name}, nil
	})
}

type defective struct {
	*alarms.Memory
	defect string
}

func (d *defective) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	switch d.defect {
	case "ignores contexts":
		ctx = context.WithoutCancel(ctx)
	case "no isolation":
		var kept alarms.Changes
		var failed error
		_ = d.Memory.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
			kept, failed = change(next, found)
			return alarms.Changes{}, errors.New("only looking")
		})
		if failed != nil {
			return failed
		}
		time.Sleep(time.Millisecond)
		return d.Memory.Write(ctx, refs, func(int64, []alarms.RefResult) (alarms.Changes, error) { return kept, nil })
	}
	var failed error
	err := d.Memory.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		c, err := change(next, found)
		for _, o := range c.Occurrences {
			if d.defect == "forgets labels" {
				o.Labels = nil
			}
		}
		if d.defect == "keeps failed writes" {
			failed, err = err, nil
		}
		return c, err
	})
	return errors.Join(err, failed)
}

func (d *defective) Occurrences(ctx context.Context, q alarms.Query) (alarms.Page, error) {
	if d.defect == "end inclusive" && !q.End.IsZero() {
		q.End = q.End.Add(time.Microsecond)
	}
	if d.defect == "shows suppressed" {
		q.Suppressed = alarms.IncludeSuppressed
	}
	p, err := d.Memory.Occurrences(ctx, q)
	if d.defect == "orders by number" {
		slices.SortStableFunc(p.Occurrences, func(a, b alarms.Occurrence) int { return cmp.Compare(b.Seq, a.Seq) })
	}
	if d.defect == "counts the page" {
		p.Total = len(p.Occurrences)
	}
	return p, err
}

func (d *defective) Trim(ctx context.Context, before time.Time) error {
	if d.defect == "trims active ones" {
		d.Memory = alarms.NewMemory()
		return nil
	}
	return d.Memory.Trim(ctx, before)
}

func (d *defective) Resolutions(ctx context.Context, code int64) ([]alarms.Resolution, error) {
	list, err := d.Memory.Resolutions(ctx, code)
	if d.defect == "newest by time" {
		slices.SortFunc(list, func(a, b alarms.Resolution) int { return b.ResolvedAt.Compare(a.ResolvedAt) })
	}
	return list, err
}

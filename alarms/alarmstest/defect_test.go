package alarmstest_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
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
		"no occurrence":       "Update",
		"no Last":             "Update",
		"copies Last":         "SameValues",
		"orders by key":       "Suppression",
		"renames":             "Update",
		"folds labels":        "Search",
		"ignores Limit":       "BigBatch",
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
		return &defective{Memory: alarms.NewMemory(), defect: name}, nil
	})
}

type defective struct {
	*alarms.Memory
	defect  string
	renamed int64 // code of a condition whose key was changed
}

func (d *defective) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	switch d.defect {
	case "no occurrence", "no Last", "copies Last":
		whole := change
		change = func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
			for i := range found {
				d.spoil(&found[i])
			}
			return whole(next, found)
		}
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
		for _, changed := range c.Conditions {
			if d.defect == "renames" && changed.Key == "another" {
				d.renamed = changed.Code
			}
		}
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

// spoil makes a result one that no store may return.
func (d *defective) spoil(f *alarms.RefResult) {
	switch {
	case f.Condition == nil || f.Occurrence == nil:
	case d.defect == "no occurrence":
		f.Occurrence = nil
	case d.defect == "no Last":
		f.Condition.Last = nil
	default:
		own := *f.Occurrence
		f.Occurrence = &own
	}
}

func (d *defective) Condition(ctx context.Context, ref alarms.Ref) (alarms.Condition, error) {
	c, err := d.Memory.Condition(ctx, ref)
	if c.Code == d.renamed {
		c.Key = "another"
	}
	return c, err
}

func (d *defective) SuppressedConditions(ctx context.Context) ([]alarms.Condition, error) {
	list, err := d.Memory.SuppressedConditions(ctx)
	if d.defect == "orders by key" {
		slices.SortFunc(list, func(a, b alarms.Condition) int { return strings.Compare(a.Key, b.Key) })
	}
	return list, err
}

func (d *defective) Occurrences(ctx context.Context, q alarms.Query) (alarms.Page, error) {
	if d.defect == "end inclusive" && !q.End.IsZero() {
		q.End = q.End.Add(time.Microsecond)
	}
	if d.defect == "shows suppressed" {
		q.Suppressed = alarms.IncludeSuppressed
	}
	if d.defect == "folds labels" && q.Labels["team"] != "" {
		q.Labels = map[string]string{"team": strings.ToLower(q.Labels["team"])}
	}
	if d.defect == "ignores Limit" {
		q.Limit = max(q.Limit, 10)
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

//go:build unix

package main_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

// fastAndSlow are on-delays of which one is longer than a driver takes to move.
var fastAndSlow = map[string]time.Duration{"fast": 500 * time.Millisecond, "slow": 6 * time.Second}

// excursions are the times when a press was above the limit of its rules.
type excursions struct {
	mu    sync.Mutex
	began []time.Time
	over  bool
}

// run raises the level of a press again and again, each time for longer than a driver takes to move while the slow alarm is due.
func (x *excursions) run(ctx context.Context, p *press) {
	for ctx.Err() == nil {
		x.set(true)
		p.level.Store(100)
		time.Sleep(12 * time.Second)
		p.level.Store(10)
		x.set(false)
		rest(ctx, 5*time.Second, 9*time.Second)
	}
}

func (x *excursions) set(over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over = over; over {
		x.began = append(x.began, time.Now())
	}
}

// age returns how long the press has been above the limit, 0 if it is not.
func (x *excursions) age() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		return 0
	}
	return time.Since(x.began[len(x.began)-1])
}

// accountPauses logs pauses that are of no fault: driver moves that take long.
func (c *campaign) accountPauses() {
	for k, p := range c.presses {
		p.mu.Lock()
		for _, pause := range p.pauses {
			if !slices.ContainsFunc(c.gaps, func(g gap) bool { return g.press == k && g.from.Before(pause.until) && pause.from.Before(g.until) }) {
				c.t.Logf("press %d was not asked for %s beside the faults, from %s to %s, by %s and then %s", k, pause.length().Round(time.Millisecond),
					pause.from.Format(time.TimeOnly), pause.until.Format(time.TimeOnly), pause.before, pause.then)
			}
		}
		p.mu.Unlock()
	}
}

// account compares what was acknowledged with what the presses and the journal have.
func (c *campaign) account(began time.Time) {
	c.accountGaps()
	c.accountPauses()
	c.accountWrites()
	var latest time.Duration
	moved := 0
	for k := range c.presses {
		for name, delay := range c.delays {
			late, n := c.accountAlarms(k, name, delay, began)
			latest, moved = max(latest, late), moved+n
		}
	}
	n := 0
	for k := range c.excursions {
		n += len(c.excursions[k].began)
	}
	c.t.Logf("%d excursions, each one alarm of each of %d rules; %d times the driver moved during an on-delay, which ended at most %s late", n, len(c.delays), moved, latest.Round(time.Millisecond))
}

func (c *campaign) accountGaps() {
	byFault := map[string][]time.Duration{}
	for _, g := range c.gaps {
		for _, name := range []string{"all", g.fault} {
			byFault[name] = append(byFault[name], g.length().Round(10*time.Millisecond))
		}
	}
	for name, gaps := range byFault {
		slices.Sort(gaps)
		c.t.Logf("%s: %d gaps of devices: median %s, p99 %s, longest %s", name, len(gaps), gaps[len(gaps)/2], gaps[len(gaps)*99/100], gaps[len(gaps)-1])
	}
}

func (c *campaign) accountWrites() {
	t, s := c.t, c.engines[0].with(c.token)
	states := map[client.WriteState]int{}
	acknowledged := map[[2]int]bool{}
	c.writes.Range(func(key, id any) bool {
		at := key.([2]int)
		acknowledged[at] = true
		w := s.settled(id.(string))
		states[w.State]++
		switch n := c.presses[at[0]].times(uint16(at[1])); w.State {
		case client.Failed:
			require.Zero(t, n, "press %d, value %d: it was written, and called failed", at[0], at[1])
		case client.Unknown:
			require.LessOrEqual(t, n, 1, "press %d, value %d", at[0], at[1])
		default:
			require.Equal(t, 1, n, "press %d, value %d is %s", at[0], at[1], w.State)
		}
		return true
	})
	for k, p := range c.presses {
		p.mu.Lock()
		for v, n := range p.written {
			require.LessOrEqual(t, n, 1, "press %d, value %d: written twice, acknowledged %v", k, v, acknowledged[[2]int{k, int(v)}])
		}
		p.mu.Unlock()
	}
	t.Logf("%d writes acknowledged, %v; %d refused or unanswered", len(acknowledged), states, c.refused.Load())
	require.NotEmpty(t, acknowledged)
}

// accountAlarms requires one alarm of a rule for each excursion. It returns how late the latest came whose driver moved during its on-delay, and how many those are.
func (c *campaign) accountAlarms(k int, name string, delay time.Duration, began time.Time) (latest time.Duration, moved int) {
	id := fmt.Sprintf("press%d", k)
	s := c.engines[0].with(c.token)
	var list []client.AlarmInfo
	eventually(c.t, "an alarm is not cleared", func() bool {
		list = slices.DeleteFunc(s.raisedSince(id+".level", began), func(a client.AlarmInfo) bool { return a.RuleID != id+name })
		return !slices.ContainsFunc(list, func(a client.AlarmInfo) bool { return a.IsActive })
	})
	all := c.excursions[k].began
	require.Len(c.t, list, len(all), id+name)
	slices.SortFunc(list, func(a, b client.AlarmInfo) int { return a.TriggeredAt.Compare(b.TriggeredAt) })
	for i, from := range all {
		due := from.Add(delay)
		for _, g := range c.gaps {
			// What was above the limit for only a moment may not have been seen.
			if g.press != k || g.told.Sub(from) < time.Second || g.from.After(due) {
				continue
			}
			if g.until.After(due) {
				due = g.until
			}
			late := list[i].TriggeredAt.Sub(due)
			latest, moved = max(latest, late), moved+1
			require.Less(c.t, late, min(g.until.Sub(from), delay)*9/10, "%s: the on-delay has begun anew", id+name)
		}
	}
	return latest, moved
}

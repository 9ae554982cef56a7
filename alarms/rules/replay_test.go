package rules_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// lose reports that the connection of the tag "t" is lost.
func (p *plant) lose() {
	at := time.Now()
	p.rules.Observe([]tags.Change{{Tag: &tags.Tag{Name: "t", Driver: "plc", DataType: tags.Float}, Degraded: true,
		Sample: tags.Sample{Quality: tags.Bad, Reason: tags.ReasonNotConnected, SourceTime: at, ServerTime: at}}})
}

// late delivers samples of the tag "t" late: the first one from a time, and each further one some seconds later. A value
// that is NaN has the quality Bad.
func (p *plant) late(from time.Time, step time.Duration, values ...float64) {
	var list []tags.Change
	for i, v := range values {
		at := from.Add(time.Duration(i) * step)
		c := tags.Change{Tag: &tags.Tag{Name: "t", Driver: "plc", DataType: tags.Float, Unit: "°C"}, Late: true,
			Sample: tags.Sample{Value: tags.FloatValue(v), Quality: tags.Good, SourceTime: at, ServerTime: time.Now()}}
		if v != v {
			c.Quality, c.Reason = tags.Bad, tags.ReasonDevice
		}
		list = append(list, c)
	}
	p.rules.Observe(list)
}

// lates returns the begin and the end of late occurrences in seconds since a time, oldest first.
func (p *plant) lates(since time.Time) []string {
	p.t.Helper()
	synctest.Wait()
	page, err := p.store.Occurrences(p.t.Context(), alarms.Query{Limit: 1000, Search: alarms.Search{Labels: map[string]string{alarms.LabelLate: "true"}}})
	require.NoError(p.t, err)
	list := make([]string, len(page.Occurrences))
	for i, o := range page.Occurrences {
		list[len(list)-1-i] = fmt.Sprintf("%g-%g", o.RaisedAt.Sub(since).Seconds(), o.ClearedAt.Sub(since).Seconds())
	}
	return list
}

// outage starts a plant with a rule, sets the tag to a value, and loses the connection a second later for an hour.
func outage(t *testing.T, value float64, r rules.Rule) (p *plant, lost time.Time) {
	p = newPlant(t, r)
	p.set(value)
	pass(time.Second)
	lost = time.Now()
	p.lose()
	pass(time.Hour)
	return p, lost
}

func TestReplay(t *testing.T) {
	hysteresis := func(r *rules.Rule) { r.Deadband, r.OnDelay, r.OffDelay = 5, 3*time.Second, 2*time.Second }
	for name, c := range map[string]struct {
		rule   rules.Rule
		before float64   // the value when the connection was lost
		values []float64 // a second apart, from a second after the loss
		want   []string
	}{
		"one alarm":             {rule(rules.High, nil), 70, []float64{70, 90, 95, 70, 70}, []string{"2-4"}},
		"several":               {rule(rules.High, nil), 70, []float64{90, 70, 90, 90, 70}, []string{"1-2", "3-5"}},
		"active before":         {rule(rules.High, nil), 90, []float64{90, 70, 90, 70}, []string{"3-4"}},
		"delays":                {rule(rules.High, hysteresis), 70, []float64{90, 90, 70, 90, 90, 90, 90, 90, 77, 77, 70, 70, 70, 70}, []string{"7-13"}},
		"off-delay interrupted": {rule(rules.High, hysteresis), 70, []float64{90, 90, 90, 90, 70, 90, 70, 70, 70, 70}, []string{"4-9"}},
		"on-delay from before":  {rule(rules.High, func(r *rules.Rule) { r.OnDelay = 2 * time.Hour }), 90, []float64{90, 70}, nil},
		"a latching one":        {rule(rules.High, func(r *rules.Rule) { r.Latching = true }), 70, []float64{70, 90, 70}, []string{"2--9.223372036854776e+09"}},
		"a state":               {rule(rules.Discrete, func(r *rules.Rule) { r.States = []string{"3"} }), 70, []float64{3, 3, 4}, []string{"1-3"}},
		"a rate": {rule(rules.RateOfChange, func(r *rules.Rule) { r.Limit, r.Window = 1, 4*time.Second }), 70,
			[]float64{70, 70, 70, 70, 80, 80, 80, 80, 80, 80, 80, 80}, []string{"5-9"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, lost := outage(t, c.before, c.rule)
				defer p.stop()
				p.set(50)
				for range 2 { // again changes nothing
					p.late(lost.Add(time.Second), time.Second, c.values...)
					if c.want == nil {
						require.Empty(t, p.lates(lost))
					} else if name != "a latching one" {
						require.Equal(t, c.want, p.lates(lost))
					} else {
						require.True(t, p.active().Late())
					}
				}
				require.EqualValues(t, 0, p.rules.Stats().Coalesced)
			})
		})
	}
}

// TestReplayOfBadQuality judges what the device behind a bridge was. The link itself is an alarm of the present.
func TestReplayOfBadQuality(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, lost := outage(t, 70, rule(rules.BadQuality, nil))
		defer p.stop()
		p.requireActive(true, "the link is lost")
		p.set(70)
		p.requireActive(false, "it is back")
		zero := 0.0
		p.late(lost.Add(time.Second), time.Second, 70, zero/zero, zero/zero, 70)
		require.Equal(t, []string{"2-4"}, p.lates(lost))
	})
}

// TestReplayTexts are those of the moment.
func TestReplayTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, lost := outage(t, 70, rule(rules.High, func(r *rules.Rule) { r.Group, r.Severity = "g", alarms.Critical }))
		defer p.stop()
		p.set(50)
		p.late(lost.Add(time.Second), time.Second, 91.5, 70)
		synctest.Wait()
		page, err := p.store.Occurrences(t.Context(), alarms.Query{Limit: 1})
		require.NoError(t, err)
		o := page.Occurrences[0]
		require.Equal(t, "t is 91.5 °C, above 80", o.Message)
		require.Equal(t, alarms.Critical, o.Severity)
		require.Equal(t, map[string]string{"ruleId": "r", "group": "g", "late": "true"}, o.Labels)
	})
}

// restart stops everything, and starts again with a normal value.
func (p *plant) restart() {
	p.t.Helper()
	synctest.Wait()
	p.stop()
	pass(time.Minute)
	p.start()
	p.set(50)
}

// TestReplayAfterARestart has a rule whose alarm was active when the process ended.
func TestReplayAfterARestart(t *testing.T) {
	for name, latching := range map[string]bool{"plain": false, "latching": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, lost := outage(t, 90, rule(rules.High, func(r *rules.Rule) { r.Latching = latching }))
				p.restart()
				defer p.stop()
				p.late(lost.Add(time.Second), time.Second, 90, 70, 90, 90, 70)
				require.Equal(t, []string{"3-5"}, p.lates(lost), "the alarm from before the restart has been told")
				p.requireActive(latching, "the present is normal")
			})
		})
	}
}

// TestReplayAcrossRestarts has samples delivered before and after a restart, from any sample on.
func TestReplayAcrossRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, lost := outage(t, 70, rule(rules.High, nil))
		from := lost.Add(time.Second)
		values := []float64{90, 70, 90, 90, 70, 90, 90, 70}
		p.set(50)
		p.late(from, time.Second, values[:4]...)
		require.Equal(t, []string{"1-2"}, p.lates(lost))
		p.restart()
		p.late(from, time.Second, values...)
		want := []string{"1-2", "3-5", "6-8"}
		require.Equal(t, want, p.lates(lost))
		for n := range values {
			p.restart()
			p.late(from.Add(time.Duration(n)*time.Second), time.Second, values[n:]...)
		}
		require.Equal(t, want, p.lates(lost), "what is delivered again is told once")
		p.requireActive(false, "the present is normal")
		p.stop()
	})
}

// TestReplayOfAChangedRule changes, removes and adds rules between the samples of one alarm.
func TestReplayOfAChangedRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, lost := outage(t, 70, rule(rules.High, nil))
		defer p.stop()
		p.set(50)
		step := func(n int, v float64) { p.late(lost.Add(time.Duration(n)*time.Second), time.Second, v) }
		step(1, 90)
		_, err := p.rules.Update(t.Context(), "r", func(r *rules.Rule) error { r.Limit, r.Name = 85, "hot"; return nil })
		require.NoError(t, err)
		step(2, 88)
		step(3, 82)
		require.Equal(t, []string{"1-3"}, p.lates(lost), "it ends by the new limit")
		step(4, 90)
		_, err = p.rules.Add(t.Context(), rule(rules.High, func(r *rules.Rule) { r.ID, r.Limit = "new", 80 }))
		require.NoError(t, err)
		step(5, 90)
		require.NoError(t, p.rules.Remove(t.Context(), "r", "", nil))
		step(6, 50)
		require.Equal(t, []string{"1-3", "5-6"}, p.lates(lost), "a removed rule has no alarms, and a new one has those of what comes")
	})
}

// TestReplayOfStrangeTimes has samples that are repeated, out of order, and of a clock that is set back.
func TestReplayOfStrangeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, lost := outage(t, 70, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 3 * time.Second }))
		defer p.stop()
		p.set(50)
		at := func(n int) time.Time { return lost.Add(time.Duration(n) * time.Second) }
		p.late(at(1), time.Second, 70, 90, 90, 90)
		p.late(at(1), time.Second, 70, 90, 90, 90) // repeated
		p.late(at(2).Add(500*time.Millisecond), time.Second, 50)
		p.late(at(5), time.Second, 90, 70)
		require.Equal(t, []string{"5-6"}, p.lates(lost))
		p.late(at(7), time.Second, 90, 90)
		p.late(at(8-600), time.Second, 90, 90, 70) // the clock was set back by ten minutes
		require.Equal(t, []string{"-590-590", "5-6"}[1:], p.lates(lost)[1:])
		require.Equal(t, "-590--590", p.lates(lost)[0], "the delay went on")
	})
}

// TestReplayOfADriverThatRepeatsNothing ends with the current samples, when no more late ones come.
func TestReplayOfADriverThatRepeatsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		now    float64 // the current value
		values []float64
		want   []string
	}{
		"off-delay":      {50, []float64{90, 70}, []string{"1-7"}},
		"ended since":    {50, []float64{90, 90}, []string{"1-3605"}},
		"still true":     {90, []float64{90, 90}, []string{}},
		"nothing at all": {50, []float64{70, 70}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, lost := outage(t, 70, rule(rules.High, func(r *rules.Rule) { r.OffDelay = 5 * time.Second }))
				defer p.stop()
				p.set(c.now)
				p.late(lost.Add(time.Second), time.Second, c.values...)
				require.Empty(t, p.lates(lost))
				pass(30 * time.Second)
				require.Equal(t, c.want, p.lates(lost))
				p.requireActive(c.now > 80, "only current samples raise what is active")
			})
		})
	}
}

// TestReplayWhileNothingCanBeStored bounds what waits.
func TestReplayWhileNothingCanBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, lost := outage(t, 70, rule(rules.High, nil))
		defer p.stop()
		p.set(50)
		p.store.broken.Store(true)
		for i := range 50_000 {
			p.late(lost.Add(time.Duration(2*i+1)*10*time.Millisecond), 10*time.Millisecond, 90, 70)
		}
		p.set(90)
		synctest.Wait()
		s := p.rules.Stats()
		require.EqualValues(t, 50_000, s.Late)
		require.LessOrEqual(t, s.Pending, 2*64+1, "those in an attempt to store them, and as many again")
		p.store.broken.Store(false)
		pass(5 * time.Second)
		list := p.lates(lost)
		require.Len(t, list, 50_000-int(s.Coalesced)/2)
		require.Equal(t, "0.01-0.02", list[0])
		require.Regexp(t, "-1000$", list[len(list)-1], "the last one has the others")
		p.requireActive(true, "the present is not lost among the past")
	})
}

// TestPendingLateAlarmsSurviveARestart has an alarm of the present and one of the past that cannot be stored.
func TestPendingLateAlarmsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &shelfOfSignals{room: 100}
		p := &plant{t: t, store: &flaky{memory: newMemory()}, options: rules.Options{Pending: kept}}
		require.NoError(t, p.store.AddRule(t.Context(), rule(rules.High, nil)))
		p.start()
		p.store.broken.Store(true)
		p.set(90)
		began := time.Now().Add(-time.Hour)
		p.late(began, time.Second, 90, 70)
		pass(3 * time.Second)
		require.Len(t, kept.signals, 2)
		_ = p.rules.Close(t.Context()) // it cannot store what waits
		require.NoError(t, p.service.Close(context.Background()))
		p.store.broken.Store(false)
		pass(time.Minute)
		p.start()
		defer p.stop()
		p.requireActive(true, "the last word of the present")
		require.Equal(t, []string{"0-1"}, p.lates(began))
		require.Equal(t, rules.PhaseActive, p.rules.Phase("r"))
		require.Empty(t, kept.signals)
	})
}

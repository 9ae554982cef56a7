package rules_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// update changes the rule "r".
func (p *plant) update(change func(*rules.Rule)) {
	p.t.Helper()
	_, err := p.rules.Update(p.t.Context(), "r", func(r *rules.Rule) error { change(r); return nil })
	require.NoError(p.t, err)
}

func TestSeverityOfAStandingAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.Severity, r.OffDelay = alarms.Warning, time.Minute }))
		defer p.stop()
		p.set(90)
		p.update(func(r *rules.Rule) { r.Severity, r.Message = alarms.Error, "{tag} is much too hot" })
		o := p.active()
		require.Equal(t, alarms.Error, o.Severity)
		require.Equal(t, "t is much too hot", o.Message)
		p.update(func(r *rules.Rule) { r.Severity = alarms.Info })
		require.Equal(t, alarms.Error, p.active().Severity, "a lower one counts from the next time")
		p.set(70)
		p.update(func(r *rules.Rule) { r.Severity = alarms.Critical })
		require.Equal(t, alarms.Critical, p.active().Severity, "also while its off-delay runs")
		p.update(func(r *rules.Rule) { r.Severity, r.Limit = alarms.Warning, 95 })
		p.set(90)
		time.Sleep(time.Minute)
		p.requireActive(false, "below the new limit")
		p.update(func(r *rules.Rule) { r.Severity = alarms.Critical })
		p.requireActive(false, "there is no alarm to become graver")
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Escalated, alarms.Escalated, alarms.Cleared}, p.kinds())
	})
}

func TestDelayGoesOnThoughARuleIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.OnDelay, r.OffDelay = 10*time.Second, 10*time.Second }))
		defer p.stop()
		bad := func() { p.sample("t", tags.FloatValue(90), tags.Bad, tags.ReasonTimeout) }
		p.set(90)
		time.Sleep(time.Second)
		bad()
		time.Sleep(time.Second)
		p.update(func(r *rules.Rule) { r.Name = "other" })
		time.Sleep(7 * time.Second)
		p.requireActive(false, "9 s")
		time.Sleep(time.Second)
		p.requireActive(true, "10 s, the quality is Bad all the time")
		p.set(70)
		bad()
		time.Sleep(5 * time.Second)
		p.update(func(r *rules.Rule) { r.OffDelay = 7 * time.Second })
		time.Sleep(time.Second)
		p.requireActive(true, "6 s")
		time.Sleep(time.Second)
		p.requireActive(false, "7 s")
	})
}

func TestDelayIsKeptThoughARuleIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.OnDelay = time.Minute }))
		p.set(90)
		p.update(func(r *rules.Rule) { r.Name = "other" }) // before the state is stored
		time.Sleep(30 * time.Second)
		p.stop()
		p.start()
		defer p.stop()
		p.set(90)
		time.Sleep(29 * time.Second)
		p.requireActive(false, "59 s")
		time.Sleep(time.Second)
		p.requireActive(true, "a minute after it began")
	})
}

func TestRateOverARestartAndABadReading(t *testing.T) {
	for name, disturb := range map[string]func(p *plant){
		"restart": func(p *plant) { p.stop(); p.start() },
		"bad":     func(p *plant) { p.sample("t", tags.Value{}, tags.Bad, tags.ReasonTimeout) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, rule(rules.RateOfChange, func(r *rules.Rule) { r.Limit, r.Window = 1, time.Minute }))
				defer func() { p.stop() }()
				v := 0.0
				rise := func() {
					for range 90 {
						v += 2
						p.set(v)
						time.Sleep(time.Second)
					}
				}
				rise()
				p.requireActive(true, "2 a second")
				disturb(p)
				rise()
				require.Equal(t, []alarms.EventKind{alarms.Raised}, p.kinds(), "it went on")
				disturb(p)
				p.set(v)
				time.Sleep(59 * time.Second)
				p.requireActive(true, "not known for a whole window")
				time.Sleep(time.Second)
				p.requireActive(false, "steady for a window")
			})
		})
	}
}

func TestRemovedTag(t *testing.T) {
	for _, kind := range []rules.Kind{rules.High, rules.BadQuality, rules.Stale} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlant(t, rule(kind, func(r *rules.Rule) { r.OffDelay = time.Minute }))
			defer p.stop()
			gone := func() { p.sample("t", tags.FloatValue(90), tags.Bad, tags.ReasonRemoved) }
			wrong := map[rules.Kind]func(){
				rules.High:       func() { p.set(90) },
				rules.BadQuality: func() { p.sample("t", tags.FloatValue(90), tags.Bad, tags.ReasonTimeout) },
				rules.Stale:      func() { p.sample("t", tags.FloatValue(90), tags.Uncertain, tags.ReasonStale) },
			}[kind]
			p.set(70)
			gone()
			p.requireActive(false, "%s: a tag that is not there has no alarm", kind)
			for range 2 { // it may come back
				wrong()
				p.requireActive(true, "%s", kind)
				gone()
				p.requireActive(false, "%s: the alarm ends at once", kind)
			}
			events, err := p.service.Events(t.Context(), 1, 1)
			require.NoError(t, err)
			require.Equal(t, alarms.Cleared, events[0].Kind)
			require.Equal(t, "the tag was removed", events[0].Comment)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.OnDelay = time.Minute }))
		defer p.stop()
		p.set(90)
		p.sample("t", tags.FloatValue(90), tags.Bad, tags.ReasonRemoved)
		time.Sleep(time.Hour)
		p.requireActive(false, "its delay ends as well")
	})
}

// stuck is a log sink that does not continue until it is told to.
type stuck struct {
	slog.Handler
	gate chan struct{}
}

func (s stuck) Enabled(context.Context, slog.Level) bool { return true }

func (s stuck) Handle(context.Context, slog.Record) error {
	<-s.gate
	return nil
}

func TestObserveDoesNotWaitForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, nil))
		require.NoError(t, p.rules.Close(t.Context()))
		sink := stuck{slog.DiscardHandler, make(chan struct{})}
		var err error
		p.rules, err = rules.New(t.Context(), p.store, p.service, rules.Options{Logger: slog.New(sink)})
		require.NoError(t, err)
		defer p.stop()
		p.store.broken.Store(true)
		for n := range 101 { // too many transitions while nothing can be stored
			p.set([]float64{90, 70}[n%2])
			synctest.Wait()
		}
		require.NotZero(t, p.rules.Stats().Coalesced)
		p.store.broken.Store(false)
		close(sink.gate)
	})
}

// late is a store whose answers come late: what it was given is stored already.
type late struct {
	*flaky
	gate chan struct{}
}

func (s late) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	err := s.flaky.Write(ctx, refs, change)
	<-s.gate
	return err
}

func TestCloseAwaitsWhatIsBeingStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plant{t: t, store: &flaky{memory: newMemory()}}
		require.NoError(t, p.store.AddRule(t.Context(), rule(rules.High, nil)))
		store := late{p.store, make(chan struct{})}
		s := service(t, store, alarms.Options{})
		var err error
		p.rules, err = rules.New(t.Context(), store, s, rules.Options{})
		require.NoError(t, err)
		def := &tags.Tag{Name: "t", DataType: tags.Float}
		var changes []tags.Change
		for i, v := range []float64{90, 70} {
			changes = append(changes, tags.Change{Tag: def, Seq: uint64(i + 1), Sample: tags.Sample{Value: tags.FloatValue(v), Quality: tags.Good}})
		}
		p.rules.Observe(changes)
		synctest.Wait() // both are stored, and nobody knows
		closed := make(chan error, 1)
		go func() { closed <- p.rules.Close(t.Context()) }()
		synctest.Wait()
		close(store.gate)
		require.NoError(t, <-closed)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared}, kinds(t, s), "stored once")
	})
}

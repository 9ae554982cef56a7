package rules_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// reading is a sample of a stream, by the time since its begin.
type reading struct {
	tag     string
	at      time.Duration
	value   float64
	quality tags.Quality
}

// linkTick is how often a link is lost or restored, and delivers.
const linkTick = 100 * time.Millisecond

// gap is a time without a connection.
type gap struct{ from, to time.Duration }

// link brings a stream to rules as a bridge does: in order while it is connected; afterwards the newest value of each tag
// first, and the rest late.
type link struct {
	p        *plant
	begin    time.Time
	backlog  []reading
	newest   map[string]reading // as sent ahead or in order
	reported map[string]reading // as observers know it
	perTick  int                // samples of the backlog that are delivered in a tick
}

func (l *link) change(r reading, late bool, reason tags.Reason) tags.Change {
	at := l.begin.Add(r.at)
	c := tags.Change{Late: late, Sample: tags.Sample{Value: tags.FloatValue(r.value), Quality: r.quality, Reason: reason, SourceTime: at, ServerTime: time.Now()},
		Tag: &tags.Tag{Name: r.tag, Driver: "bridge", DataType: tags.Float}, Degraded: reason == tags.ReasonNotConnected}
	if r.quality == tags.Bad && reason == tags.ReasonNone {
		c.Reason = tags.ReasonDriver
	}
	return c
}

// current reports a current sample, if it differs from the one before.
func (l *link) current(r reading) {
	l.newest[r.tag] = r
	if was, ok := l.reported[r.tag]; ok && was.value == r.value && was.quality == r.quality {
		return
	}
	l.reported[r.tag] = r
	l.p.rules.Observe([]tags.Change{l.change(r, false, tags.ReasonNone)})
}

func (l *link) lose() {
	for _, tag := range []string{"s", "t"} {
		if r, ok := l.newest[tag]; ok {
			r.quality = tags.Bad
			delete(l.reported, tag)
			l.p.rules.Observe([]tags.Change{l.change(r, false, tags.ReasonNotConnected)})
		}
	}
}

// sendAhead sends the newest sample of each tag that is in the backlog.
func (l *link) sendAhead() {
	ahead := make(map[string]reading)
	for _, r := range l.backlog {
		ahead[r.tag] = r
	}
	for _, tag := range []string{"s", "t"} {
		if r, ok := ahead[tag]; ok {
			l.current(r)
		} else if r, ok := l.newest[tag]; ok {
			l.current(r)
		}
	}
}

// drain delivers a part of the backlog.
func (l *link) drain() {
	for range min(l.perTick, len(l.backlog)) {
		r := l.backlog[0]
		l.backlog = l.backlog[1:]
		if r.at > l.newest[r.tag].at {
			l.current(r)
			continue
		}
		l.p.rules.Observe([]tags.Change{l.change(r, true, tags.ReasonNone)})
	}
}

// occurrencesOf runs a rule over a stream with gaps and returns its occurrences by their begin.
func occurrencesOf(t *testing.T, rule rules.Rule, stream []reading, gaps []gap, perTick int) (list []alarms.Occurrence) {
	synctest.Test(t, func(t *testing.T) {
		l := &link{begin: time.Now(), newest: make(map[string]reading), reported: make(map[string]reading), perTick: perTick}
		p := &plant{t: t, store: &flaky{memory: newMemory()}, options: rules.Options{Current: func(tag string) (tags.Snapshot, bool) {
			r, ok := l.newest[tag]
			return tags.Snapshot{Sample: tags.Sample{Quality: tags.Bad, Reason: tags.ReasonWaiting, SourceTime: l.begin.Add(r.at)}}, ok
		}}}
		require.NoError(t, p.store.AddRule(t.Context(), rule))
		p.start()
		defer p.stop()
		l.p = p
		down := false
		for at := time.Duration(0); len(stream) > 0 || len(l.backlog) > 0; at += linkTick {
			time.Sleep(time.Until(l.begin.Add(at)))
			if is := slices.ContainsFunc(gaps, func(g gap) bool { return g.from <= at && at < g.to }); is != down {
				if down = is; down {
					l.lose()
				} else {
					l.sendAhead()
				}
			}
			for len(stream) > 0 && stream[0].at < at+linkTick {
				r := stream[0]
				stream = stream[1:]
				time.Sleep(time.Until(l.begin.Add(r.at)))
				switch {
				case down:
					l.backlog = append(l.backlog, r)
				case len(l.backlog) > 0:
					l.backlog = append(l.backlog, r)
					l.current(r)
				default:
					l.current(r)
				}
			}
			if !down {
				l.drain()
			}
		}
		time.Sleep(time.Hour) // all delays end
		synctest.Wait()
		page, err := p.store.Occurrences(t.Context(), alarms.Query{Limit: 10_000})
		require.NoError(t, err)
		list = page.Occurrences
		require.Zero(t, p.rules.Stats().Coalesced)
		require.NoError(t, p.rules.Stats().Err)
	})
	slices.SortFunc(list, func(a, b alarms.Occurrence) int { return a.RaisedAt.Compare(b.RaisedAt) })
	return list
}

// randomRule returns a rule over the tag t, or the tags t and s.
func randomRule(rng *rand.Rand) rules.Rule {
	delay := func() time.Duration {
		return []time.Duration{0, 0, 700 * time.Millisecond, 3 * time.Second, 20 * time.Second}[rng.IntN(5)]
	}
	return rule(rules.High, func(r *rules.Rule) {
		r.OnDelay, r.OffDelay, r.Deadband = delay(), delay(), []float64{0, 15}[rng.IntN(2)]
		r.Limit = 70
		switch rng.IntN(6) {
		case 0:
			r.Kind, r.Limit = rules.Low, 30
		case 1:
			r.Kind, r.SetpointTag, r.Limit = rules.Deviation, "s", 40
		case 2:
			r.Kind, r.Window, r.Limit, r.Deadband = rules.RateOfChange, 5*time.Second, 8, 0
		case 3:
			r.Kind, r.Limit, r.Deadband = rules.BadQuality, 0, 0
			r.OffDelay = 0 // the loss of the link is bad too, and its off-delay would join what is not one alarm
		}
	})
}

// randomStream returns about two minutes of samples, whose last ones are normal for every rule.
func randomStream(rng *rand.Rand) (stream []reading, end time.Duration) {
	at, value := 37*time.Microsecond, map[string]float64{"s": 50, "t": 50}
	stream = []reading{{"s", 11 * time.Microsecond, 50, tags.Good}, {"t", 17 * time.Microsecond, 50, tags.Good}}
	for at < 2*time.Minute {
		at += time.Duration(rng.Int64N(int64([]time.Duration{50 * time.Millisecond, time.Second, 4 * time.Second}[rng.IntN(3)]))) + 7*time.Microsecond
		r := reading{tag: "t", at: at, quality: tags.Good}
		if rng.IntN(8) == 0 {
			r.tag = "s"
		} else if rng.IntN(12) == 0 {
			r.quality = tags.Bad
		}
		if rng.IntN(3) == 0 {
			value[r.tag] = float64(rng.IntN(101))
		} else {
			value[r.tag] = min(max(value[r.tag]+float64(rng.IntN(31)-15), 0), 100)
		}
		r.value = value[r.tag]
		stream = append(stream, r)
	}
	at += time.Minute
	stream = append(stream, reading{"s", at, 50, tags.Good}, reading{"t", at + 13*time.Microsecond, 50, tags.Good})
	return stream, at
}

func randomGaps(rng *rand.Rand) (gaps []gap) {
	for at := time.Duration(rng.Int64N(int64(20 * time.Second))); at < 2*time.Minute; {
		at = at.Truncate(linkTick)
		g := gap{at, (at + time.Duration(rng.Int64N(int64(50*time.Second)))).Truncate(linkTick)}
		gaps = append(gaps, g)
		at = g.to + time.Duration(rng.Int64N(int64(40*time.Second)))
	}
	return gaps
}

// TestReplayFindsWhatAnUnbrokenLinkWouldHave compares random streams over a link that is lost again and again with the
// same streams over one that is not.
func TestReplayFindsWhatAnUnbrokenLinkWouldHave(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 30
	}
	late, all := 0, 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 1))
			r := randomRule(rng)
			stream, end := randomStream(rng)
			gaps := randomGaps(rng)
			begin := time.Time{}
			synctest.Test(t, func(*testing.T) { begin = time.Now() })
			want := occurrencesOf(t, r, stream, nil, 1)
			got := occurrencesOf(t, r, stream, gaps, 1+rng.IntN(30))
			describe := func() string {
				text := fmt.Sprintf("%s limit %v deadband %v delays %v %v, end %v\n", r.Kind, r.Limit, r.Deadband, r.OnDelay, r.OffDelay, end)
				for _, g := range gaps {
					text += fmt.Sprintf("gap %v..%v\n", g.from, g.to)
				}
				for name, list := range map[string][]alarms.Occurrence{"want": want, "got": got} {
					for _, o := range list {
						text += fmt.Sprintf("%s %v..%v late=%t\n", name, o.RaisedAt.Sub(begin), o.ClearedAt.Sub(begin), o.Late())
					}
				}
				return text
			}
			all += len(want)
			for _, o := range got {
				require.False(t, o.Active, "%v", describe())
				if !o.Late() {
					continue
				}
				late++
				require.Equal(t, 1, count(want, func(w alarms.Occurrence) bool { return sameTimes(o, w) }), "late %v is none\n%v", o.RaisedAt.Sub(begin), describe())
				require.Zero(t, count(got, func(g alarms.Occurrence) bool {
					return !g.Late() && !g.RaisedAt.Before(o.RaisedAt) && g.RaisedAt.Before(o.ClearedAt)
				}), "late %v is told twice\n%v", o.RaisedAt.Sub(begin), describe())
			}
			for _, w := range want {
				from, to := w.RaisedAt.Sub(begin)-r.OnDelay, w.ClearedAt.Sub(begin)
				seen := func(g gap) bool { // a rate changes without a sample too
					return slices.ContainsFunc(stream, func(r reading) bool { return r.tag == "t" && g.from < r.at && r.at < g.to })
				}
				if !slices.ContainsFunc(gaps, func(g gap) bool { return g.from < from && to < g.to && seen(g) }) {
					require.NotZero(t, count(got, func(g alarms.Occurrence) bool {
						return !g.RaisedAt.After(w.ClearedAt.Add(r.OnDelay+time.Minute)) && !g.ClearedAt.Before(w.RaisedAt.Add(-time.Minute))
					}), "%v is not told\n%v", from, describe())
					continue
				}
				require.Equal(t, 1, count(got, func(g alarms.Occurrence) bool { return g.Late() && sameTimes(g, w) }), "%v is not told once\n%v", from, describe())
			}
		})
	}
	t.Logf("%d occurrences, %d of them late", all, late)
	require.Greater(t, late, all/10, "the streams are no test")
}

func count[T any](list []T, is func(T) bool) int {
	return len(list) - len(slices.DeleteFunc(slices.Clone(list), is))
}

func sameTimes(a, b alarms.Occurrence) bool {
	return cmp.Or(a.RaisedAt.Compare(b.RaisedAt), a.ClearedAt.Compare(b.ClearedAt)) == 0
}

package engine_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/tags"
)

// clock is an engine whose clock is ahead. Work moves only when an engine is closed: a write may fail while its driver moves.
func clock(ahead time.Duration) func(o *engine.Options) {
	return func(o *engine.Options) {
		o.Server.Now = func() time.Time { return time.Now().Add(ahead) }
		o.Shared.Cluster.TTL, o.Shared.Cluster.Settle = 10*time.Second, time.Hour
	}
}

// Engines whose clocks differ by a minute share the drivers all the same: each has one owner, values and writes pass, and an alarm outlives moves from one clock to
// the other, in both directions.
func TestEnginesWhoseClocksDiffer(t *testing.T) {
	p := newPlant(t, 1)
	begun := time.Now()
	clocks := []func(o *engine.Options){clock(0), clock(time.Minute)}
	engines := []*engine.Engine{p.start(clocks[0]), p.start(clocks[1])}
	p.add(engines[0], "m0")
	_, err := engines[1].AlarmRules().Add(t.Context(), rules.Rule{ID: "high", Tag: "m0.v", Kind: rules.High, Limit: 50, Severity: alarms.Critical, Enabled: true, Message: "too high"})
	require.NoError(t, err)
	p.machines["m0"].set(60)
	occurrences := func() []alarms.Occurrence {
		page, err := engines[0].Alarms().History(t.Context(), begun, time.Now().Add(time.Hour), alarms.ListQuery{Page: 1, PageSize: 100})
		require.NoError(t, err)
		return page.Occurrences
	}
	require.Eventually(t, func() bool { return len(occurrences()) == 1 }, time.Minute, 10*time.Millisecond)
	raised := occurrences()[0]
	for round := range 4 {
		v := int64(60 + round)
		p.machines["m0"].set(v)
		p.shows("m0.v", v, engines...) // also what an engine of an earlier time reports
		for _, e := range engines {
			v += 100
			w, err := e.Tags().Write(t.Context(), tags.WriteRequest{Tag: "m0.v", Value: tags.IntValue(v), By: "ann", Confirm: true})
			require.NoError(t, err)
			w, err = e.Tags().AwaitWrite(t.Context(), w.ID)
			require.NoError(t, err)
			require.Equal(t, tags.WriteConfirmed, w.State, w.Error)
			p.shows("m0.v", v, engines...)
		}
		require.Equal(t, []alarms.Occurrence{raised}, occurrences(), "not cleared and raised again")
		gone := 0
		if own, _ := engines[1].Tags().Samples("m0", nil); own != nil {
			gone = 1
		}
		require.NoError(t, engines[gone].Close(t.Context()))
		engines[gone] = p.start(clocks[gone])
		p.shows("m0.v", v, engines...)
	}
	p.machines["m0"].set(1)
	require.Eventually(t, func() bool { return !occurrences()[0].ClearedAt.IsZero() }, time.Minute, 10*time.Millisecond)
	require.Len(t, occurrences(), 1)
	writes, twice := p.machines["m0"].state()
	require.False(t, twice)
	require.Len(t, writes, 8, "each once")
	require.Eventually(t, func() bool { // what both clocks have stamped is in the history
		stored := map[tags.Value]bool{}
		for sample, err := range p.history.Range(t.Context(), "m0.v", begun, time.Now().Add(time.Hour)) {
			require.NoError(t, err)
			stored[sample.Value] = true
		}
		for _, v := range writes {
			if !stored[tags.IntValue(v)] {
				return false
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond)
}

// An engine that does not know the type of a driver never runs it, and says why.
func TestAnEngineThatLacksADriverType(t *testing.T) {
	p := newPlant(t, 2)
	able := p.start(nil)
	lacking := p.start(func(o *engine.Options) { o.Tags.DriverTypes = nil })
	for id := range p.machines {
		p.add(able, id)
	}
	type list struct {
		Engines []struct {
			Self   bool
			Unable []struct{ Kind, ID, Reason string }
		}
		Unassigned []struct {
			Kind, ID string
			Reasons  []struct{ Reason string }
		}
	}
	engines := func() (l list) {
		answer := httptest.NewRecorder()
		lacking.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/engines", nil))
		require.Equal(t, http.StatusOK, answer.Code, answer.Body)
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &l))
		return l
	}
	require.Eventually(t, func() bool {
		unable := 0
		for id := range p.machines {
			_, runs := lacking.Tags().Samples(id, nil)
			require.False(t, runs, "it runs a driver of a type that it does not know")
		}
		for _, e := range engines().Engines {
			for _, u := range e.Unable {
				if e.Self && u.Kind == "driver" && p.machines[u.ID] != nil {
					require.Contains(t, u.Reason, "Machine")
					unable++
				}
			}
		}
		return unable == 2
	}, time.Minute, 20*time.Millisecond)
	p.shows("m0.v", 1, able)
	require.NoError(t, able.Close(t.Context()))
	require.Eventually(t, func() bool {
		reasons := 0
		for _, w := range engines().Unassigned {
			if w.Kind == "driver" && p.machines[w.ID] != nil && len(w.Reasons) == 1 {
				require.Contains(t, w.Reasons[0].Reason, "Machine")
				reasons++
			}
		}
		return reasons == 2
	}, time.Minute, 20*time.Millisecond)
}

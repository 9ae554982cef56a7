package alertsource_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/history"
)

// between does something after the records were read and before what follows from them is stored.
type between struct {
	history.ReceiverStore
	do      func()
	unheard bool // the lock is not held, as when an engine has lost it
}

func (b *between) RelatedRecords(ctx context.Context, keys []alerting.RecordKey) (history.Related, error) {
	r, err := b.ReceiverStore.RelatedRecords(ctx, keys)
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return r, err
}

func (b *between) WithLock(ctx context.Context, work func(context.Context) error) error {
	if b.unheard {
		return work(ctx)
	}
	return b.ReceiverStore.WithLock(ctx, work)
}

// TestWebhooksOfTwoEngines has a second engine take bodies in between the reading and the writing of the
// first one, as it happens when both take in what a pair of senders says.
func TestWebhooksOfTwoEngines(t *testing.T) {
	old, again := firing("Hot", noon.Add(-time.Hour)), firing("Hot", noon.Add(-time.Minute))
	end := resolved(old, noon.Add(-2*time.Minute))
	for _, c := range []struct {
		name   string
		before []any // told first
		first  any   // the first engine has read the records
		second []any // and the second one takes these in
		repeat any   // then the sender repeats
		active int
	}{
		{"an alert comes back while its end is heard of", []any{old}, end, []any{again}, again, 1},
		{"an alert comes and ends while it is heard of again", nil, old, []any{old, end}, end, 0},
	} {
		for _, unheard := range []bool{false, true} {
			name := c.name
			if unheard {
				name += ", without a lock"
			}
			t.Run(name, func(t *testing.T) {
				r := newReceiver(t)
				history := &between{ReceiverStore: r.store, unheard: unheard}
				first, err := alertsource.New(r.alarms, history, r.silences, alertsource.Options{Now: r.clock.now})
				require.NoError(t, err)
				for _, a := range c.before {
					require.True(t, r.post(t, a).Success)
				}
				second := func() {
					for _, a := range c.second {
						if _, err := r.Receive(t.Context(), "", body(t, a)); err != nil {
							t.Error(err)
						}
					}
				}
				if unheard {
					r.history.ReceiverStore = history
				}
				var wg sync.WaitGroup
				history.do = func() {
					if unheard {
						second()
					} else {
						told := make(chan struct{})
						wg.Go(func() { second(); close(told) })
						select { // it waits its turn
						case <-told:
						case <-time.After(50 * time.Millisecond):
						}
					}
				}
				_, err = first.Receive(t.Context(), "", body(t, c.first))
				require.NoError(t, err)
				wg.Wait()
				if unheard {
					require.True(t, r.post(t, c.repeat).Success)
				}
				active, err := r.alarms.Active(t.Context())
				require.NoError(t, err)
				require.Len(t, active, c.active)
			})
		}
	}
}

// TestWebhookClockSetBack has the clocks of sender and receiver set back by an hour, and the sender
// started again, so that it gives what it told of a new beginning that is before the old one.
func TestWebhookClockSetBack(t *testing.T) {
	r := newReceiver(t)
	at := func(minutes int) time.Time {
		r.clock.at = noon.Add(time.Duration(minutes) * time.Minute)
		return r.clock.at
	}
	requireActive := func(want int) {
		t.Helper()
		active, err := r.alarms.Active(t.Context())
		require.NoError(t, err)
		require.Len(t, active, want)
	}
	r.post(t, firing("Hot", at(0)))
	anew := firing("Hot", at(-58))
	r.post(t, anew)
	requireActive(1)
	r.post(t, resolved(anew, at(-50)))
	requireActive(0)
	next := firing("Hot", at(-30))
	r.post(t, next)
	requireActive(1)
	require.Equal(t, "Raised Cleared Raised", kinds(r.events(t)))
	r.post(t, resolved(next, at(-20)))
	requireActive(0)
	for _, rec := range r.records(t) {
		require.False(t, rec.CompletedAt.Before(rec.Key.At))
	}
}

// TestWebhookLateWordEndsNothing repeats the end of an alert after the next one was raised, when an error
// has kept the record of the next one away.
func TestWebhookLateWordEndsNothing(t *testing.T) {
	r := newReceiver(t)
	r.clock.at = noon.Add(time.Hour)
	first, second := firing("Pump", noon), firing("Pump", noon.Add(time.Minute))
	end := resolved(first, noon.Add(30*time.Second))
	r.post(t, first, end)
	r.history.apply = errors.New("disk is full")
	_, err := r.Receive(t.Context(), "", body(t, second))
	require.ErrorIs(t, err, alertsource.ErrNothingStored)
	r.history.apply = nil
	r.post(t, end)
	require.Equal(t, "Raised Cleared Raised", kinds(r.events(t)), "the second one lasts")
	r.post(t, second, resolved(second, noon.Add(2*time.Minute)))
	require.Equal(t, "Raised Cleared Raised Cleared", kinds(r.events(t)))
}

// TestWebhookHearsOfTheEndAlone has the clocks set back, and the new beginning is told with its end.
func TestWebhookHearsOfTheEndAlone(t *testing.T) {
	r := newReceiver(t)
	r.post(t, firing("Hot", noon))
	r.clock.at = noon.Add(-50 * time.Minute)
	r.post(t, resolved(firing("Hot", noon.Add(-58*time.Minute)), r.clock.at))
	require.Equal(t, "Raised Cleared", kinds(r.events(t)))
	require.False(t, r.records(t)[0].CompletedAt.IsZero())
}

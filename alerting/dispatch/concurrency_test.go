package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
)

// wide is a channel that takes several messages at the same time.
type wide struct {
	fake
	lanes int

	mu            sync.Mutex
	sending, most int
}

func (w *wide) Concurrency() int { return w.lanes }

// take lasts for d and counts the messages that are sent at the same time.
func (w *wide) take(d time.Duration) {
	w.mu.Lock()
	w.sending++
	w.most = max(w.most, w.sending)
	w.mu.Unlock()
	time.Sleep(d)
	w.mu.Lock()
	w.sending--
	w.mu.Unlock()
}

func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("Pump ", i)
	}
	return keys
}

func TestSeveralAlarmsAreSentAtTheSameTime(t *testing.T) {
	for _, key := range []bool{true, false} {
		t.Run(fmt.Sprint("accepts a key ", key), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &wide{fake: fake{name: "webhook", key: key}, lanes: 8}
				f.answer = func(context.Context, alerting.Notification) error {
					f.take(50 * time.Millisecond)
					return nil
				}
				k := newDesk(t, dispatch.Options{Routes: alerting.Routes{alarms.Critical: {"webhook"}}}, f)
				k.raise(t, alarms.Critical, numbered(300)...)
				pass(3 * time.Second)
				require.Len(t, f.titles(), 300, "17 seconds one after the other")
				require.Equal(t, 8, f.most)
			})
		})
	}
}

// TestTheMessagesOfAnAlarmKeepTheirOrder raises, escalates and clears alarms while a receiver is slow and fails now and then.
func TestTheMessagesOfAnAlarmKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu      sync.Mutex
			count   int
			sending = make(map[string]bool)
			got     = make(map[string][]string)
		)
		f := &wide{fake: fake{name: "webhook", key: true}, lanes: 8}
		f.answer = func(_ context.Context, n alerting.Notification) error {
			mu.Lock()
			overlap := sending[n.AlarmID]
			sending[n.AlarmID] = true
			count++
			fails := count%7 == 0
			mu.Unlock()
			f.take(20 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			sending[n.AlarmID] = false
			if overlap {
				t.Errorf("two messages about %s at the same time", n.Source)
			}
			if fails {
				return alerting.Retryable(errors.New("busy"), 0)
			}
			got[n.Source] = append(got[n.Source], fmt.Sprint(n.Severity, n.Resolved))
			return nil
		}
		row := []string{"webhook"}
		k := newDesk(t, dispatch.Options{Routes: alerting.Routes{alarms.Warning: row, alarms.Critical: row}}, f)
		keys := numbered(60)
		k.raise(t, alarms.Warning, keys...)
		k.raise(t, alarms.Critical, keys...)
		for _, key := range keys {
			k.clear(t, key)
		}
		pass(time.Hour)
		for _, key := range keys {
			require.Equal(t, []string{"Warning false", "Critical false", "Critical true"}, got[key])
		}
	})
}

// TestSimultaneousFailuresCountOnce has eight attempts fail together: the pause is that of one failure more, not of eight.
func TestSimultaneousFailuresCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &wide{fake: fake{name: "webhook", key: true}, lanes: 8}
		var up atomic.Bool
		f.answer = func(context.Context, alerting.Notification) error {
			f.take(time.Millisecond)
			if !up.Load() {
				return alerting.Retryable(errors.New("down"), 0)
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{Routes: alerting.Routes{alarms.Critical: {"webhook"}}}, f)
		k.raise(t, alarms.Critical, numbered(8)...)
		pass(500 * time.Millisecond)
		require.Len(t, f.titles(), 8)
		require.Zero(t, k.Channels()[0].PausedUntil)
		up.Store(true)
		pass(2 * time.Second)
		require.Len(t, f.titles(), 16)
		require.Zero(t, k.Channels()[0].Failing)
	})
}

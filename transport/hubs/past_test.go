package hubs_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/transport/hubs"
)

// restart stops the Dashboard and starts another one, which knows nothing of what the first has sent.
func (d *desk) restart() {
	time.Sleep(time.Second)
	d.stop()
	time.Sleep(time.Second)
	d.start()
	time.Sleep(time.Second)
}

// TestRestartUnderASilence silences alarms that were sent before. They are not sent again, and their ends are sent.
func TestRestartUnderASilence(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		for _, key := range []string{"open", "over", "late"} {
			d.raise(key, alarms.Error)
		}
		require.Len(t, d.hub.take("alarms"), 3)
		time.Sleep(time.Minute)
		d.silence("*", time.Hour)
		time.Sleep(time.Minute)
		d.raise("quiet", alarms.Error)
		d.raise("known", alarms.Error)
		_, err := d.alarms.Acknowledge(t.Context(), alarms.ByKey("known"), "anna", "")
		require.NoError(t, err)
		for range 2 {
			d.restart()
		}
		d.clear("over")
		d.clear("known")
		require.Equal(t, []string{"Resolved: over is hot"}, d.hub.take("alarms"))
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"quiet is hot"}, d.hub.take("alarms"), "the others were sent before")
		for _, key := range []string{"open", "late", "quiet"} {
			d.clear(key)
		}
		require.Equal(t, []string{"Resolved: open is hot", "Resolved: late is hot", "Resolved: quiet is hot"}, d.hub.take("alarms"))
	})
}

// TestRestartBetweenSilences has an alarm sent when its first silence ends, and then silenced again.
func TestRestartBetweenSilences(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		d.silence("pump", time.Hour)
		time.Sleep(time.Minute)
		d.raise("pump", alarms.Error)
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"pump is hot"}, d.hub.take("alarms"))
		d.silence("*", time.Hour)
		d.restart()
		time.Sleep(2 * time.Hour)
		require.Empty(t, d.hub.take("alarms"))
		d.clear("pump")
		require.Equal(t, []string{"Resolved: pump is hot"}, d.hub.take("alarms"))
	})
}

// TestRestartBeforeASilenceIsDeleted deletes the silence that kept an alarm back before and after a restart.
func TestRestartBeforeASilenceIsDeleted(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		d.raise("sent", alarms.Error)
		time.Sleep(time.Minute)
		s := d.silence("*", time.Hour)
		d.raise("quiet", alarms.Warning)
		time.Sleep(time.Minute)
		d.raise("quiet", alarms.Critical)
		require.Equal(t, []string{"sent is hot"}, d.hub.take("alarms"))
		d.restart()
		require.NoError(t, d.silences.Delete(t.Context(), s.ID))
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"quiet is hot"}, d.hub.take("alarms"))
		d.restart()
		d.clear("quiet")
		d.clear("sent")
		require.Equal(t, []string{"Resolved: quiet is hot", "Resolved: sent is hot"}, d.hub.take("alarms"))
	})
}

// TestRestartWithSuppressedAlarms suppresses one alarm after it was sent, and another one before it is raised.
func TestRestartWithSuppressedAlarms(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		d.raise("early", alarms.Error)
		d.raise("known", alarms.Error)
		d.clear("known")
		d.raise("sent", alarms.Error)
		d.clear("early")
		d.hub.take("")
		for _, key := range []string{"early", "known", "sent"} {
			_, err := d.alarms.Shelve(t.Context(), alarms.ByKey(key), time.Hour, "anna", "")
			require.NoError(t, err)
		}
		d.raise("early", alarms.Error)
		d.raise("known", alarms.Error)
		_, err := d.alarms.Acknowledge(t.Context(), alarms.ByKey("known"), "anna", "")
		require.NoError(t, err)
		d.restart()
		d.clear("sent")
		d.clear("early")
		require.Equal(t, []string{"Resolved: sent is hot"}, d.hub.take("alarms"))
		time.Sleep(2 * time.Hour)
		d.clear("known")
		require.Empty(t, d.hub.take("alarms"), "it was acknowledged while it was shelved")
	})
}

// TestEndsOfAlarmsWhoseSeverityIsNotSent raises alarms whose severity rises to one that is not sent, or to the first one that is.
func TestEndsOfAlarmsWhoseSeverityIsNotSent(t *testing.T) {
	for name, restart := range map[string]bool{"one engine": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.options.Shows = func(s alarms.Severity) bool { return s == alarms.Warning || s == alarms.Error }
				d.start()
				defer func() { d.close() }()
				d.raise("sent", alarms.Warning)
				d.raise("never", alarms.Info)
				d.raise("never", alarms.Critical)
				time.Sleep(time.Minute)
				d.silence("*", time.Hour)
				time.Sleep(time.Minute)
				d.raise("rising", alarms.Info)
				d.raise("rising", alarms.Error)
				d.raise("quiet", alarms.Warning)
				if restart {
					d.restart()
				}
				d.raise("sent", alarms.Critical)
				d.raise("quiet", alarms.Critical)
				require.Equal(t, []string{"sent is hot"}, d.hub.take("alarms"))
				if restart {
					d.restart()
				}
				for _, key := range []string{"rising", "never", "sent"} {
					d.clear(key)
				}
				require.Equal(t, []string{"Resolved: sent is hot"}, d.hub.take("alarms"))
				time.Sleep(2 * time.Hour)
				require.Equal(t, []string{"quiet is hot"}, d.hub.take("alarms"))
				if restart {
					d.restart()
				}
				d.clear("quiet")
				require.Equal(t, []string{"Resolved: quiet is hot"}, d.hub.take("alarms"))
				require.Equal(t, []string{"Warning", "Critical", "Warning", "Critical"}, d.hub.levels)
			})
		})
	}
}

// slowJournal takes its time for the journal of an occurrence, and calls first when that is first read.
type slowJournal struct {
	*alarms.Service
	loaded chan struct{} // if not nil, closed when the active alarms were read
	first  func()
}

func (j *slowJournal) EachActive(ctx context.Context) iter.Seq2[alarms.Occurrence, error] {
	return func(yield func(alarms.Occurrence, error) bool) {
		defer func() {
			if j.loaded != nil {
				close(j.loaded)
			}
		}()
		j.Service.EachActive(ctx)(yield)
	}
}

func (j *slowJournal) EventsOf(ctx context.Context, id string, page, size int) ([]alarms.Event, int, error) {
	if do := j.first; do != nil {
		j.first = nil
		do()
	}
	time.Sleep(20 * time.Millisecond)
	return j.Service.EventsOf(ctx, id, page, size)
}

// TestNewAlarmsDoNotWaitForTheEndsOfMany ends, after a restart, so many acknowledged alarms that it would take minutes to read what became
// of each.
func TestNewAlarmsDoNotWaitForTheEndsOfMany(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		const many = 1000
		for i := range many {
			d.raise(fmt.Sprint(i), alarms.Error)
			_, err := d.alarms.Acknowledge(t.Context(), alarms.ByKey(fmt.Sprint(i)), "anna", "")
			require.NoError(t, err)
		}
		d.journal = &slowJournal{Service: d.alarms}
		d.restart()
		d.hub.take("")
		for i := range many {
			d.clear(fmt.Sprint(i))
		}
		d.raise("new", alarms.Critical)
		time.Sleep(3 * time.Second)
		got := d.hub.take("alarms")
		require.Len(t, got, many+1)
		require.Equal(t, "new is hot", got[many])
	})
}

// TestNewAlarmsDoNotWaitForTheEndOfASilence ends, after a restart, a silence of so many alarms that it takes seconds to read what became
// of them. An alarm that is raised meanwhile is sent before the last of them.
func TestNewAlarmsDoNotWaitForTheEndOfASilence(t *testing.T) {
	t.Parallel()
	const held = 75
	d := newDesk(t)
	s := d.silence("quiet", time.Hour)
	for i := range held {
		_, err := d.alarms.Raise(t.Context(), alarms.Alarm{Key: fmt.Sprint(i), Source: "quiet", Severity: alarms.Error, Message: "quiet is hot"})
		require.NoError(t, err)
	}
	journal := &slowJournal{Service: d.alarms, loaded: make(chan struct{}), first: func() { d.raise("new", alarms.Critical) }}
	dashboard, err := hubs.NewDashboard(d.hub, journal, d.silences, hubs.DashboardOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		dashboard.Run(ctx)
	}()
	<-journal.loaded
	require.NoError(t, d.silences.Delete(t.Context(), s.ID))
	sent := func() []string {
		d.hub.mu.Lock()
		defer d.hub.mu.Unlock()
		return slices.DeleteFunc(slices.Clone(d.hub.sent), func(s string) bool { return strings.HasPrefix(s, "OnAlarm") })
	}
	require.Eventually(t, func() bool { return len(sent()) == held+1 }, time.Minute, 10*time.Millisecond)
	cancel()
	<-ended
	require.NoError(t, d.alarms.Close(context.Background()))
	require.Less(t, slices.Index(sent(), "new is hot"), held)
}

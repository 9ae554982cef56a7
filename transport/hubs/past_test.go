package hubs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
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

package alertsource

import (
	"slices"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/internal/canon"
)

// maxTellers bounds the senders that are remembered for one end.
const maxTellers = 16

// fireAgain decides about a firing alert whose end is known: it returns the alert that begins again, or nil for
// a message that is late. See [Receiver.Receive].
func (c *conversion) fireAgain(a *alert, completed time.Time) *alert {
	alarm := a.key.Alarm
	if at, ok := c.again(alarm); ok { // a repeat
		c.repeat(a.at(at))
		return nil
	}
	if len(c.open[alarm]) > 0 || c.post.ends[alarm] { // a later one lasts, or the same body has its end
		return nil
	}
	end, ok := c.ends[alarm]
	if !ok { // from before ends were stored
		end = history.End{Alarm: alarm, At: latest(completed, a.key.At), ToldAt: completed}
		c.keepEnd(end)
	}
	late := c.now.Sub(end.ToldAt)
	if late >= 0 && late <= c.w.o.LateWindow && !slices.Contains(end.By, c.post.sender) {
		c.w.o.Logger.Info("late firing alert ignored", "alarm", alarm, "source", a.source, "endToldAt", end.ToldAt)
		return nil
	}
	return a.at(beginsAgain(end))
}

// beginsAgain returns the beginning of an alert that fires again. It follows the end by the clock of the
// sender, so that whichever end comes next is after it, and late word of the last end is not.
func beginsAgain(e history.End) time.Time { return canon.Time(e.At).Add(time.Microsecond) }

// again returns when an alert of an alarm began that fires again and lasts.
func (c *conversion) again(alarm string) (time.Time, bool) {
	end, ok := c.ends[alarm]
	if !ok {
		return time.Time{}, false
	}
	at := beginsAgain(end)
	_, ok = c.open[alarm][alerting.RecordKey{Alarm: alarm, At: at}]
	return at, ok
}

// at returns the alert with another beginning.
func (a *alert) at(began time.Time) *alert {
	again := *a
	again.key.At = began
	return &again
}

// toldBefore reports whether a resolved alert repeats the last end of its alarm, and notes its sender.
// If an alert fires again and its sender gives no end, heard becomes the beginning of that.
func (c *conversion) toldBefore(a *alert, heard *time.Time) bool {
	alarm := a.key.Alarm
	end, ok := c.ends[alarm]
	if !ok {
		return false
	}
	at, again := c.again(alarm)
	switch {
	case a.endsAt.IsZero():
		if again && !a.key.At.After(at) {
			*heard = at
		}
		return false
	case heard.After(end.At):
		return false
	case len(c.open[alarm]) > 0:
		return again
	}
	if heard.Equal(end.At) && !slices.Contains(end.By, c.post.sender) && len(end.By) < maxTellers {
		end.By = append(slices.Clip(end.By), c.post.sender)
		c.keepEnd(end)
	}
	return false
}

// keepEnd has an end stored.
func (c *conversion) keepEnd(e history.End) {
	c.ends[e.Alarm] = e
	c.newEnds[e.Alarm] = true
}

package alertsource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/alerting"
)

// DefaultMaxActive is the default of Options.MaxActive.
const DefaultMaxActive = 10_000

// errNoRoom is why an alert fails that would raise one alarm too many.
var errNoRoom = errors.New("would raise more alarms than may be active")

// takeRoom reports whether the alarm of an alert may become active. One that is active needs no more room.
func (c *conversion) takeRoom(ctx context.Context, a *alert) (bool, error) {
	if len(c.open[a.key.Alarm]) > 0 {
		return true, nil
	}
	if err := c.w.open.read(ctx, c.w, false); err != nil {
		return false, err
	}
	if c.w.open.records+c.added >= c.w.o.MaxActive && !c.recounted { // other engines may have completed some
		c.recounted = true
		if err := c.w.open.read(ctx, c.w, true); err != nil {
			return false, err
		}
	}
	return c.w.open.records+c.added < c.w.o.MaxActive, nil
}

// openCount is the number of records of firing alerts. It is counted again after countInterval, because other engines add records too.
// Its owner is whoever has the turn of the receiver.
type openCount struct {
	records int
	at      time.Time // of the last count; zero if the number is not known
}

const countInterval = time.Second

// read counts if that is due, or if fresh.
func (n *openCount) read(ctx context.Context, w *Receiver, fresh bool) error {
	now := w.o.Now()
	if age := now.Sub(n.at); !fresh && !n.at.IsZero() && age >= 0 && age < countInterval {
		return nil
	}
	open, err := w.history.CountOpen(ctx, alerting.ReceivedKeyPrefix)
	if err == nil {
		n.records, n.at = int(open), now
	}
	return err
}

const (
	truncatedFor  = 24 * time.Hour // without another post of the group, its alerts count as known again
	maxTruncated  = 1000           // groups that are remembered
	restartedPost = ""             // stands for the groups that were cut before a restart
)

// noteTruncated raises an alarm when a sender has left out alerts, and forgets a group that is whole again.
func (w *Receiver) noteTruncated(ctx context.Context, p *post) {
	w.mu.Lock()
	_, was := w.truncated[p.group]
	if p.omitted == 0 {
		if delete(w.truncated, p.group); was {
			w.whole = w.o.Now()
		}
	} else if was || len(w.truncated) < maxTruncated {
		w.truncated[p.group] = w.o.Now()
	}
	whole := was && len(w.truncated) == 0
	w.mu.Unlock()
	switch {
	case p.omitted > 0:
		w.o.Logger.Warn("sender left out alerts", "count", p.omitted, "receiver", p.receiver, "externalURL", p.externalURL)
		if raisePlatform(ctx, w.alarms, w.o.Logger, truncatedKey, fmt.Sprintf("Alertmanager leaves alerts out, %d in the last post of the "+
			"receiver %q: they raise no alarm here. Set max_alerts of its webhook_config to 0.", p.omitted, p.receiver)) {
			w.mu.Lock()
			delete(w.truncated, restartedPost)
			w.mu.Unlock()
		}
	case whole:
		clearPlatform(ctx, w.alarms, w.o.Logger, truncatedKey, time.Time{})
	}
}

// Maintain clears the alarms about posts that were cut and about too many active alarms when they are over.
// Call it every minute or so.
func (w *Receiver) Maintain(ctx context.Context) error {
	w.mu.Lock()
	now := w.o.Now()
	for group, at := range w.truncated {
		if now.Sub(at) > truncatedFor {
			delete(w.truncated, group)
			w.whole = now
		}
	}
	whole, since := len(w.truncated) == 0, w.whole
	w.mu.Unlock()
	if whole {
		// What was raised since then is of another engine, which has received a post that was cut.
		if day := now.Add(-truncatedFor); since.Before(day) {
			since = day
		}
		clearPlatform(ctx, w.alarms, w.o.Logger, truncatedKey, since)
	}
	open, err := w.history.CountOpen(ctx, alerting.ReceivedKeyPrefix)
	if err != nil {
		return err
	}
	if open < int64(w.o.MaxActive) {
		clearPlatform(ctx, w.alarms, w.o.Logger, fullKey, time.Time{})
	}
	return nil
}

package dispatch

import (
	"context"
	"time"

	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

const (
	// silenceCheck is the interval of looking for silences that have ended; a change of one is noticed before.
	silenceCheck = 10 * time.Second
	// silenceSweep is the interval of scanning all silenced deliveries although no silence has ended.
	silenceSweep = 10 * time.Minute
	silencePage  = 500 // deliveries read at once
)

// releaseSilenced releases deliveries when no silence holds for them any more, until ctx ends.
func (d *Dispatcher) releaseSilenced(ctx context.Context) {
	w := silenceWatch{d: d, due: true}
	for {
		err := w.check(ctx)
		if ctx.Err() == nil && d.setError("silences", err) && err != nil {
			d.log.Error("failed to check silences", "error", err)
		}
		pause := d.o.PollInterval
		if err != nil {
			pause = d.o.jittered(max(pause, time.Second))
		}
		if !wait(ctx, nil, pause) {
			return
		}
	}
}

// silenceWatch decides when to scan the silenced deliveries, of which there may be many.
type silenceWatch struct {
	d       *Dispatcher
	at      time.Time // of the last check
	swept   time.Time // of the last scan
	changes int64
	index   *silences.Index // as of the last check
	due     bool            // there is a reason for a scan
	again   bool            // the same once more, for what was being planned meanwhile
}

func (w *silenceWatch) check(ctx context.Context) error {
	now, changes := canon.Time(w.d.o.Now()), w.d.deps.Silences.Version()
	if age := now.Sub(w.at); w.index != nil && changes == w.changes && age >= 0 && age < silenceCheck {
		return nil
	}
	index, err := w.d.deps.Silences.Index(ctx)
	if err != nil {
		return err
	}
	news := w.d.endedSilence.Swap(false) || w.index != nil && (!index.Equal(w.index) || index.Ended(w.at, now) || now.Before(w.at))
	if age := now.Sub(w.swept); news || w.again || age < 0 || age >= silenceSweep {
		w.due = true
	}
	w.again = w.again || news
	if w.due {
		if err := w.scan(ctx, index, now); err != nil {
			return err
		}
		w.due, w.again, w.swept = false, news, now
	}
	w.at, w.changes, w.index = now, changes, index
	return nil
}

// scan releases or discards silenced deliveries for which no silence holds.
func (w *silenceWatch) scan(ctx context.Context, index *silences.Index, now time.Time) error {
	u := silenceRelease{d: w.d, now: now, index: index}
	var last outbox.Delivery
	for {
		page, err := w.d.deps.Outbox.SilencedDeliveries(ctx, last, silencePage)
		if err != nil {
			return err
		}
		for _, one := range page {
			if last = one; len(u.of) > 0 && u.of[0].Occurrence != one.Occurrence {
				u.collect()
			}
			u.of = append(u.of, one)
		}
		if len(page) < silencePage {
			u.collect()
		}
		if err := u.decide(ctx); err != nil {
			return err
		}
		if err := u.apply(ctx); err != nil || len(page) < silencePage {
			return err
		}
	}
}

// silenceRelease goes through what is silenced, occurrence by occurrence.
type silenceRelease struct {
	d     *Dispatcher
	now   time.Time
	index *silences.Index

	of      []outbox.Delivery   // of one occurrence
	ended   [][]outbox.Delivery // of occurrences for which no silence holds any more
	release []string
	drop    []string
}

// collect adds one occurrence to those to decide about, unless a silence holds for it.
func (u *silenceRelease) collect() {
	list := u.of
	u.of = nil
	if len(list) == 0 {
		return
	}
	n := &list[0].Notification
	if _, holds := u.index.Match(n.SourceType, n.Source, u.now); !holds {
		u.ended = append(u.ended, list)
	}
}

// decide releases or discards the deliveries of the collected occurrences. If one became more severe while it was silenced, there are
// several messages to one recipient, of which the last one is enough.
func (u *silenceRelease) decide(ctx context.Context) error {
	lists := u.ended
	u.ended = nil
	if len(lists) == 0 {
		return nil
	}
	ids := make([]string, len(lists))
	for i, list := range lists {
		ids[i] = list[0].Occurrence
	}
	// Planning discards what has ended or was acknowledged, but not what was silenced after that.
	found, err := u.d.deps.Journal.OccurrencesByID(ctx, ids)
	if err != nil {
		return err
	}
	standing := make(map[string]bool, len(found))
	for i := range found {
		standing[found[i].ID] = !needsNoAttention(&found[i])
	}
	for _, list := range lists {
		newest := make(map[[2]string]outbox.Delivery)
		for _, one := range list {
			key := [2]string{one.Channel, one.Recipient}
			if before, ok := newest[key]; ok {
				if before.Seq > one.Seq {
					one, before = before, one
				}
				u.drop = append(u.drop, before.ID)
			}
			newest[key] = one
		}
		for _, one := range newest {
			if standing[list[0].Occurrence] {
				u.release = append(u.release, one.ID)
			} else {
				u.drop = append(u.drop, one.ID)
			}
		}
	}
	return nil
}

// apply stores the decisions. Another dispatcher may have decided the same before.
func (u *silenceRelease) apply(ctx context.Context) error {
	if _, err := u.d.deps.Outbox.ReleaseSilenced(ctx, u.drop, outbox.Discarded, u.now, time.Time{}); err != nil {
		return err
	}
	n, err := u.d.deps.Outbox.ReleaseSilenced(ctx, u.release, outbox.Pending, u.now, u.now.Add(u.d.o.DeliveryTimeout))
	u.drop, u.release = nil, nil
	if n > 0 {
		u.d.wakeWorkers()
	}
	return err
}

package alerting

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/alarms"
)

const (
	// silenceCheck is how often it is looked whether silences have ended, besides when one was changed.
	silenceCheck = 10 * time.Second
	// silenceSweep is how often all that is silenced is looked at though no silence has ended.
	silenceSweep = 10 * time.Minute
	silencePage  = 500 // deliveries read at once
)

// endSilences has what is silenced sent when no silence holds for it any more, until ctx ends.
func (d *Dispatcher) endSilences(ctx context.Context) {
	w := silenceWatch{d: d, due: true}
	for {
		err := w.look(ctx)
		if ctx.Err() == nil && d.trouble("silences", err) && err != nil {
			d.log.Error("it cannot be looked which silences have ended", "error", err)
		}
		pause := d.o.Poll
		if err != nil {
			pause = d.o.jittered(max(pause, time.Second))
		}
		if !wait(ctx, nil, pause) {
			return
		}
	}
}

// silenceWatch finds out when what is silenced must be looked at, which may be much.
type silenceWatch struct {
	d       *Dispatcher
	at      time.Time // of the last look
	swept   time.Time // when all was looked at
	changes int64
	index   *SilenceIndex // as of the last look
	due     bool          // there is a reason to look at all
	again   bool          // the same once more, for what was being planned meanwhile
}

func (w *silenceWatch) look(ctx context.Context) error {
	now, changes := stamp(w.d.o.Now()), w.d.deps.Silences.changes.Load()
	if age := now.Sub(w.at); w.index != nil && changes == w.changes && age >= 0 && age < silenceCheck {
		return nil
	}
	index, err := w.d.deps.Silences.Index(ctx)
	if err != nil {
		return err
	}
	news := w.d.late.Swap(false) || w.index != nil && (!index.same(w.index) || index.ended(w.at, now) || now.Before(w.at))
	if age := now.Sub(w.swept); news || w.again || age < 0 || age >= silenceSweep {
		w.due = true
	}
	w.again = w.again || news
	if w.due {
		if err := w.sweep(ctx, index, now); err != nil {
			return err
		}
		w.due, w.again, w.swept = false, news, now
	}
	w.at, w.changes, w.index = now, changes, index
	return nil
}

// sweep looks at all that is silenced.
func (w *silenceWatch) sweep(ctx context.Context, index *SilenceIndex, now time.Time) error {
	u := unsilencing{d: w.d, now: now, index: index}
	var last Delivery
	for {
		page, err := w.d.deps.Outbox.SilencedDeliveries(ctx, last, silencePage)
		if err != nil {
			return err
		}
		for _, one := range page {
			if last = one; len(u.of) > 0 && u.of[0].Occurrence != one.Occurrence {
				if err := u.decide(ctx); err != nil {
					return err
				}
			}
			u.of = append(u.of, one)
		}
		if len(page) < silencePage {
			if err := u.decide(ctx); err != nil {
				return err
			}
		}
		if err := u.apply(ctx); err != nil || len(page) < silencePage {
			return err
		}
	}
}

// unsilencing goes through what is silenced, occurrence by occurrence.
type unsilencing struct {
	d     *Dispatcher
	now   time.Time
	index *SilenceIndex

	of      []Delivery // of one occurrence
	release []string
	drop    []string
}

// decide looks at one occurrence. Where it became graver while it was silenced there are several
// messages to one recipient, of which the last one says it all.
func (u *unsilencing) decide(ctx context.Context) error {
	list := u.of
	u.of = nil
	if len(list) == 0 {
		return nil
	}
	n := &list[0].Notification
	if _, holds := u.index.Match(n.SourceType, n.Source, u.now); holds {
		return nil
	}
	// Planning gives up what has ended or was acknowledged, but not what was silenced after that.
	o, err := u.d.deps.Journal.Occurrence(ctx, list[0].Occurrence)
	if err != nil && !errors.Is(err, alarms.ErrAlarmNotFound) {
		return err
	}
	over := err != nil || settledDown(&o)
	newest := make(map[[2]string]Delivery)
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
		if over {
			u.drop = append(u.drop, one.ID)
		} else {
			u.release = append(u.release, one.ID)
		}
	}
	return nil
}

// apply writes down what was decided. Another dispatcher may have decided the same before.
func (u *unsilencing) apply(ctx context.Context) error {
	if _, err := u.d.deps.Outbox.Unsilence(ctx, u.drop, Dropped, u.now, time.Time{}); err != nil {
		return err
	}
	n, err := u.d.deps.Outbox.Unsilence(ctx, u.release, Pending, u.now, u.now.Add(u.d.o.MaxAge))
	u.drop, u.release = nil, nil
	if n > 0 {
		u.d.pokeWorkers()
	}
	return err
}

package alerting

import (
	"context"
	"time"
)

const (
	// silenceCheck is how often it is looked whether silences have ended, besides when one was changed.
	silenceCheck = 10 * time.Second
	silencePage  = 500 // deliveries read at once
)

// endSilences has what is silenced sent when no silence holds for it any more. It must be called when
// every event is planned: planning gives up what has ended or was acknowledged.
func (d *Dispatcher) endSilences(ctx context.Context) error {
	now, changes := d.o.Now(), d.deps.Silences.changes.Load()
	if age := now.Sub(d.silences.at); changes == d.silences.changes && age >= 0 && age < silenceCheck {
		return nil
	}
	u := unsilencing{d: d, now: stamp(now)}
	var last Delivery
	for {
		page, err := d.deps.Outbox.SilencedDeliveries(ctx, last, silencePage)
		if err != nil {
			return err
		}
		if len(page) > 0 && u.index == nil {
			if u.index, err = d.deps.Silences.Index(ctx); err != nil {
				return err
			}
		}
		for _, one := range page {
			if last = one; len(u.of) > 0 && u.of[0].Occurrence != one.Occurrence {
				u.decide()
			}
			u.of = append(u.of, one)
		}
		if len(page) < silencePage {
			u.decide()
		}
		if err := u.apply(ctx); err != nil {
			return err
		}
		if len(page) < silencePage {
			break
		}
	}
	d.silences.at, d.silences.changes = now, changes
	return nil
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
func (u *unsilencing) decide() {
	list := u.of
	u.of = nil
	if len(list) == 0 {
		return
	}
	n := &list[0].Notification
	if _, holds := u.index.Match(n.SourceType, n.Source, u.now); holds {
		return
	}
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
		u.release = append(u.release, one.ID)
	}
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

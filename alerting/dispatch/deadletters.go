package dispatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/fault"
)

// DeadLetters returns a page of what could not be sent, of one channel or of all if channel is empty, the newest first. Pages count
// from 1 and have 1..[outbox.MaxDeadLetters] entries. This and the methods below return [outbox.ErrNoDeadLetters] if the outbox does
// not list dead letters.
func (d *Dispatcher) DeadLetters(ctx context.Context, channel string, page, pageSize int) (outbox.DeadLetterPage, error) {
	switch {
	case page < 1 || page > canon.MaxOffset/outbox.MaxDeadLetters:
		return outbox.DeadLetterPage{}, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "is out of range"})
	case pageSize < 1:
		return outbox.DeadLetterPage{}, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case pageSize > outbox.MaxDeadLetters:
		return outbox.DeadLetterPage{}, alerting.ErrPageSizeExceeded.Invalid(fault.Field{Field: "pageSize", Message: fmt.Sprintf("must be at most %d", outbox.MaxDeadLetters)})
	}
	if d.deps.DeadLetters == nil {
		return outbox.DeadLetterPage{}, outbox.ErrNoDeadLetters
	}
	list, total, err := d.deps.DeadLetters.DeadLetters(ctx, channel, (page-1)*pageSize, pageSize)
	if list == nil {
		list = []outbox.Delivery{}
	}
	return outbox.DeadLetterPage{Deliveries: list, Total: int(total)}, err
}

// CountDeadLetters returns the number of dead letters of each channel that has any: nothing if the outbox does not list them.
func (d *Dispatcher) CountDeadLetters(ctx context.Context) (map[string]outbox.DeadLetterCount, error) {
	if d.deps.DeadLetters == nil {
		return nil, nil
	}
	return d.deps.DeadLetters.CountDeadLetters(ctx)
}

// Retry sends a dead letter again. If id is unknown or not a dead letter any more, Retry returns [outbox.ErrDeadLetterNotFound]. If its
// channel does not exist, the dead letter stays and Retry returns [alerting.ErrChannelNotFound].
func (d *Dispatcher) Retry(ctx context.Context, id string) error {
	guid, ok := canon.ID(id)
	if !ok {
		return outbox.ErrDeadLetterNotFound.On("id", id)
	}
	if d.deps.DeadLetters == nil {
		return outbox.ErrNoDeadLetters
	}
	letter, err := d.deps.DeadLetters.DeadLetter(ctx, guid)
	if err != nil {
		return err
	}
	if d.channels[letter.Channel] == nil {
		return alerting.ErrChannelNotFound.On("channel", letter.Channel)
	}
	n, err := d.requeue(ctx, guid, "")
	if err == nil && n == 0 {
		return outbox.ErrDeadLetterNotFound.On("id", id)
	}
	return err
}

// RetryAll sends all dead letters of a channel again, or of every channel if channel is empty, and returns their number. Those of
// channels that do not exist stay and are not counted.
func (d *Dispatcher) RetryAll(ctx context.Context, channel string) (int, error) {
	if d.deps.DeadLetters == nil {
		return 0, outbox.ErrNoDeadLetters
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(d.channels)) {
		if channel != "" && channel != name {
			continue
		}
		n, err := d.requeue(ctx, "", name)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

func (d *Dispatcher) requeue(ctx context.Context, id, channel string) (int, error) {
	now := canon.Time(d.o.Now())
	n, err := d.deps.DeadLetters.RequeueDeadLetters(ctx, id, channel, now, now.Add(d.o.DeliveryTimeout))
	d.wakeWorkers()
	d.deadLettered.Set()
	return n, err
}

// Discard gives up a dead letter for good; by is for the log. If id is unknown or not a dead letter any more, Discard returns
// [outbox.ErrDeadLetterNotFound].
func (d *Dispatcher) Discard(ctx context.Context, id, by string) error {
	guid, ok := canon.ID(id)
	if !ok {
		return outbox.ErrDeadLetterNotFound.On("id", id)
	}
	n, err := d.discard(ctx, guid, "", by)
	if err == nil && n == 0 {
		return outbox.ErrDeadLetterNotFound.On("id", id)
	}
	return err
}

// DiscardAll gives up all dead letters of a channel, or of every channel if channel is empty, and returns their number.
func (d *Dispatcher) DiscardAll(ctx context.Context, channel, by string) (int, error) {
	return d.discard(ctx, "", channel, by)
}

func (d *Dispatcher) discard(ctx context.Context, id, channel, by string) (int, error) {
	if d.deps.DeadLetters == nil {
		return 0, outbox.ErrNoDeadLetters
	}
	n, err := d.deps.DeadLetters.DiscardDeadLetters(ctx, id, channel, canon.Time(d.o.Now()))
	if n > 0 {
		d.log.Info("dead letters discarded", "by", by, "delivery", id, "channel", channel, "number", n)
	}
	d.deadLettered.Set()
	return n, err
}

// deadLetterKeys begins the keys of alarms about dead letters.
const deadLetterKeys = "alerting:dead:"

// DeadLetterKey returns the key of the alarm about the dead letters of a channel. That channel does not notify of it.
func DeadLetterKey(channel string) string { return deadLetterKeys + channel }

// reportDeadLetters calls OnDeadLetter until ctx ends.
func (d *Dispatcher) reportDeadLetters(ctx context.Context) {
	reported := make(map[string]outbox.DeadLetterCount)
	for {
		pause := time.Minute // they may be of another engine
		err := d.reportDeadLettersOnce(ctx, reported)
		if err != nil {
			pause = 5 * time.Second
		}
		if ctx.Err() == nil && d.setError("dead letters", err) && err != nil {
			d.log.Error("failed to report dead letters", "error", err)
		}
		if !wait(ctx, d.deadLettered.C(), pause) {
			return
		}
	}
}

// reportDeadLettersOnce calls OnDeadLetter for the channels whose dead letters have changed since they were reported.
func (d *Dispatcher) reportDeadLettersOnce(ctx context.Context, reported map[string]outbox.DeadLetterCount) error {
	counts, err := d.deps.DeadLetters.CountDeadLetters(ctx)
	if err != nil {
		return err
	}
	names := alerting.KnownChannels() // of a channel without settings there may be an alarm to clear
	for _, more := range []map[string]outbox.DeadLetterCount{counts, reported} {
		names = slices.AppendSeq(names, maps.Keys(more))
	}
	names = slices.AppendSeq(names, maps.Keys(d.channels))
	slices.Sort(names)
	var errs []error
	for _, name := range slices.Compact(names) {
		if was, ok := reported[name]; ok && was == counts[name] {
			continue
		}
		if err := d.o.OnDeadLetter(ctx, name, counts[name]); err != nil {
			errs = append(errs, fmt.Errorf("channel %s: %w", name, err))
			continue
		}
		reported[name] = counts[name]
	}
	return errors.Join(errs...)
}

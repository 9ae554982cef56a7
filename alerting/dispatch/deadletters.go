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

// DeadLetters returns a page of what could not be sent, of one channel or of all when channel is empty,
// the newest first. Pages count from 1 and have 1..[MaxDeadLetters] entries.
func (d *Dispatcher) DeadLetters(ctx context.Context, channel string, page, pageSize int) (outbox.DeadLetterPage, error) {
	switch {
	case page < 1 || page > canon.MaxOffset/outbox.MaxDeadLetters:
		return outbox.DeadLetterPage{}, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "is out of range"})
	case pageSize < 1:
		return outbox.DeadLetterPage{}, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case pageSize > outbox.MaxDeadLetters:
		return outbox.DeadLetterPage{}, alerting.ErrPageSizeExceeded.Invalid(fault.Field{Field: "pageSize", Message: fmt.Sprintf("must be at most %d", outbox.MaxDeadLetters)})
	}
	list, total, err := d.deps.DeadLetters.DeadLetters(ctx, channel, (page-1)*pageSize, pageSize)
	if list == nil {
		list = []outbox.Delivery{}
	}
	return outbox.DeadLetterPage{Deliveries: list, TotalCount: total}, err
}

// CountDeadLetters returns the number of dead letters of each channel that has any.
func (d *Dispatcher) CountDeadLetters(ctx context.Context) (map[string]outbox.DeadLetterCount, error) {
	return d.deps.DeadLetters.CountDeadLetters(ctx)
}

// Retry sends a dead letter again. One that is not there, or is dead no more, is
// [ErrDeadLetterNotFound]; one of a channel that has no settings stays and is [ErrChannelNotFound].
func (d *Dispatcher) Retry(ctx context.Context, id string) error {
	guid, ok := canon.ID(id)
	if !ok {
		return outbox.ErrDeadLetterNotFound.On("id", id)
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

// RetryAll sends all dead letters of a channel again, or of every channel when it is empty, and gives
// their number. Those of channels that have no settings stay and do not count.
func (d *Dispatcher) RetryAll(ctx context.Context, channel string) (int, error) {
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

// Discard returns a dead letter up for good; by is for the log. One that is not there, or is dead no more,
// is [ErrDeadLetterNotFound].
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

// DiscardAll returns up all dead letters of a channel, or of every channel when it is empty, and gives
// their number.
func (d *Dispatcher) DiscardAll(ctx context.Context, channel, by string) (int, error) {
	return d.discard(ctx, "", channel, by)
}

func (d *Dispatcher) discard(ctx context.Context, id, channel, by string) (int, error) {
	n, err := d.deps.DeadLetters.DiscardDeadLetters(ctx, id, channel, canon.Time(d.o.Now()))
	if n > 0 {
		d.log.Info("dead letters discarded", "by", by, "delivery", id, "channel", channel, "number", n)
	}
	d.deadLettered.Set()
	return n, err
}

// deadLetterKeys is how the keys of alarms about dead letters begin.
const deadLetterKeys = "alerting:dead:"

// DeadLetterKey is the key of the alarm that a channel has dead letters. That channel is not told of it.
func DeadLetterKey(channel string) string { return deadLetterKeys + channel }

// reportDeadLetters tells OnDead of dead letters until ctx ends.
func (d *Dispatcher) reportDeadLetters(ctx context.Context) {
	told := make(map[string]outbox.DeadLetterCount)
	for {
		pause := time.Minute // they may be of another engine
		err := d.reportDeadLettersOnce(ctx, told)
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

// reportDeadLettersOnce tells of the channels whose dead letters are not those told.
func (d *Dispatcher) reportDeadLettersOnce(ctx context.Context, told map[string]outbox.DeadLetterCount) error {
	counts, err := d.deps.DeadLetters.CountDeadLetters(ctx)
	if err != nil {
		return err
	}
	names := alerting.KnownChannels() // of a channel without settings there may be an alarm to clear
	for _, more := range []map[string]outbox.DeadLetterCount{counts, told} {
		names = slices.AppendSeq(names, maps.Keys(more))
	}
	names = slices.AppendSeq(names, maps.Keys(d.channels))
	slices.Sort(names)
	var errs []error
	for _, name := range slices.Compact(names) {
		if was, ok := told[name]; ok && was == counts[name] {
			continue
		}
		if err := d.o.OnDeadLetter(ctx, name, counts[name]); err != nil {
			errs = append(errs, fmt.Errorf("channel %s: %w", name, err))
			continue
		}
		told[name] = counts[name]
	}
	return errors.Join(errs...)
}

// noDeadLetters is used where the outbox does not list dead letters.
type noDeadLetters struct{}

func (noDeadLetters) DeadLetter(_ context.Context, id string) (outbox.Delivery, error) {
	return outbox.Delivery{}, outbox.ErrDeadLetterNotFound.On("id", id)
}

func (noDeadLetters) DeadLetters(context.Context, string, int, int) ([]outbox.Delivery, int64, error) {
	return nil, 0, nil
}

func (noDeadLetters) RequeueDeadLetters(context.Context, string, string, time.Time, time.Time) (int, error) {
	return 0, nil
}

func (noDeadLetters) DiscardDeadLetters(context.Context, string, string, time.Time) (int, error) {
	return 0, nil
}

func (noDeadLetters) CountDeadLetters(context.Context) (map[string]outbox.DeadLetterCount, error) {
	return nil, nil
}

package alerting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
)

// MaxDeadLetters is the largest page of dead letters.
const MaxDeadLetters = 100

// DeadLetterPage is one page of dead letters.
type DeadLetterPage struct {
	Deliveries []Delivery
	TotalCount int64
}

// DeadLetters gives a page of what could not be sent, of one channel or of all when channel is empty,
// the newest first. Pages count from 1 and have 1..[MaxDeadLetters] entries.
func (d *Dispatcher) DeadLetters(ctx context.Context, channel string, page, pageSize int) (DeadLetterPage, error) {
	switch {
	case page < 1 || page > maxOffset/MaxDeadLetters:
		return DeadLetterPage{}, ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "is out of range"})
	case pageSize < 1:
		return DeadLetterPage{}, ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case pageSize > MaxDeadLetters:
		return DeadLetterPage{}, ErrPageSizeExceeded.Invalid(fault.Field{Field: "pageSize", Message: fmt.Sprintf("must be at most %d", MaxDeadLetters)})
	}
	list, total, err := d.deps.DeadLetters.DeadLetters(ctx, channel, (page-1)*pageSize, pageSize)
	if list == nil {
		list = []Delivery{}
	}
	return DeadLetterPage{list, total}, err
}

// Retry sends a dead letter again. One that is not there, or is dead no more, is
// [ErrDeadLetterNotFound]; one of a channel that has no settings stays and is [ErrChannelNotFound].
func (d *Dispatcher) Retry(ctx context.Context, id string) error {
	guid, ok := canonicalID(id)
	if !ok {
		return ErrDeadLetterNotFound.On("id", id)
	}
	letter, err := d.deps.DeadLetters.DeadLetter(ctx, guid)
	if err != nil {
		return err
	}
	if d.channels[letter.Channel] == nil {
		return ErrChannelNotFound.On("channel", letter.Channel)
	}
	n, err := d.revive(ctx, guid, "")
	if err == nil && n == 0 {
		return ErrDeadLetterNotFound.On("id", id)
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
		n, err := d.revive(ctx, "", name)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

func (d *Dispatcher) revive(ctx context.Context, id, channel string) (int, error) {
	now := stamp(d.o.Now())
	n, err := d.deps.DeadLetters.ReviveDeadLetters(ctx, id, channel, now, now.Add(d.o.MaxAge))
	d.pokeWorkers()
	poke(d.died)
	return n, err
}

// Discard gives a dead letter up for good; by is for the log. One that is not there, or is dead no more,
// is [ErrDeadLetterNotFound].
func (d *Dispatcher) Discard(ctx context.Context, id, by string) error {
	guid, ok := canonicalID(id)
	if !ok {
		return ErrDeadLetterNotFound.On("id", id)
	}
	n, err := d.drop(ctx, guid, "", by)
	if err == nil && n == 0 {
		return ErrDeadLetterNotFound.On("id", id)
	}
	return err
}

// DiscardAll gives up all dead letters of a channel, or of every channel when it is empty, and gives
// their number.
func (d *Dispatcher) DiscardAll(ctx context.Context, channel, by string) (int, error) {
	return d.drop(ctx, "", channel, by)
}

func (d *Dispatcher) drop(ctx context.Context, id, channel, by string) (int, error) {
	n, err := d.deps.DeadLetters.DropDeadLetters(ctx, id, channel, stamp(d.o.Now()))
	if n > 0 {
		d.log.Info("dead letters were discarded", "by", by, "delivery", id, "channel", channel, "number", n)
	}
	poke(d.died)
	return n, err
}

// deadLetterKeys is how the keys of alarms about dead letters begin.
const deadLetterKeys = "alerting:dead:"

// DeadLetterKey is the key of the alarm that a channel has dead letters. That channel is not told of it.
func DeadLetterKey(channel string) string { return deadLetterKeys + channel }

// tellDead tells OnDead of dead letters until ctx ends.
func (d *Dispatcher) tellDead(ctx context.Context) {
	told := make(map[string]DeadCount)
	for {
		pause := time.Minute // they may be of another engine
		err := d.tellDeadOnce(ctx, told)
		if err != nil {
			pause = 5 * time.Second
		}
		if ctx.Err() == nil && d.trouble("dead letters", err) && err != nil {
			d.log.Error("dead letters cannot be told of", "error", err)
		}
		if !wait(ctx, d.died, pause) {
			return
		}
	}
}

// tellDeadOnce tells of the channels whose dead letters are not those told.
func (d *Dispatcher) tellDeadOnce(ctx context.Context, told map[string]DeadCount) error {
	counts, err := d.deps.DeadLetters.CountDeadLetters(ctx)
	if err != nil {
		return err
	}
	names := KnownChannels() // of a channel without settings there may be an alarm to clear
	for _, more := range []map[string]DeadCount{counts, told} {
		names = slices.AppendSeq(names, maps.Keys(more))
	}
	names = slices.AppendSeq(names, maps.Keys(d.channels))
	slices.Sort(names)
	var errs []error
	for _, name := range slices.Compact(names) {
		if was, ok := told[name]; ok && was == counts[name] {
			continue
		}
		if err := d.o.OnDead(ctx, name, counts[name]); err != nil {
			errs = append(errs, fmt.Errorf("channel %s: %w", name, err))
			continue
		}
		told[name] = counts[name]
	}
	return errors.Join(errs...)
}

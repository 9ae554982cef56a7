package passive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// MaxItems is the most items of one Push.
const MaxItems = 10_000

// maxAhead is how far the clock of a sender may be ahead.
const maxAhead = 24 * time.Hour

// maxReported is how many bad members an error names.
const maxReported = 20

// ErrInvalidItems is the error of a batch that is refused. Its Fields name bad items by their paths, at most 20 of them.
var ErrInvalidItems = fault.New(fault.Invalid, "INVALID_ITEMS", "items are not valid")

// Item is a value that came for a tag.
type Item struct {
	Name, Address string // of the tag; one of both
	// Value is a bool, int, int64, float64, json.Number, string, []byte or tags.Value. A Bytes tag takes text in base64,
	// an Int tag whole numbers only. It may be nil if Quality is Bad.
	Value   any
	Time    time.Time     // when the value was taken; zero takes the time of the call
	Quality *tags.Quality // nil is Good
}

// Push takes a batch of at most MaxItems items, in their order: all of it or, with an ErrInvalidItems, nothing. When it returns
// nil, the tag engine has them. If no engine subscribes to the driver, such as for a moment while tags are defined, Push waits
// for one as long as ctx lasts and then returns a tags.ErrDriverOffline.
func (d *Driver) Push(ctx context.Context, items []Item) error {
	now := d.now()
	points, readings, err := d.check(items, now)
	if err != nil {
		return err
	}
	for {
		d.mu.Lock()
		if len(d.subs) > 0 {
			d.take(points, readings, now)
			d.mu.Unlock()
			return nil
		}
		listening := d.listening
		d.mu.Unlock()
		select {
		case <-listening:
		case <-ctx.Done():
			return tags.ErrDriverOffline.Wrap(context.Cause(ctx))
		}
	}
}

// check makes readings of items.
func (d *Driver) check(items []Item, now time.Time) ([]*point, []tags.Reading, error) {
	if n := len(items); n == 0 || n > MaxItems {
		return nil, nil, ErrInvalidItems.Because("%d items, not 1 to %d", n, MaxItems)
	}
	var bad []fault.Field
	points, readings := make([]*point, len(items)), make([]tags.Reading, len(items))
	for i := range items {
		p, r, member, err := d.reading(&items[i], now)
		if err == nil {
			points[i], readings[i] = p, r
			continue
		}
		bad = append(bad, fault.Field{Field: fmt.Sprintf("[%d].%s", i, member), Message: err.Error()})
		if len(bad) == maxReported {
			break
		}
	}
	if len(bad) > 0 {
		return nil, nil, ErrInvalidItems.Invalid(bad...)
	}
	return points, readings, nil
}

// reading makes a reading of an item, or names the member that is wrong.
func (d *Driver) reading(item *Item, now time.Time) (p *point, r tags.Reading, member string, err error) {
	member, p = "name", d.byName[item.Name]
	named := item.Name
	if item.Name == "" && item.Address != "" {
		member, p, named = "address", d.byAddr[item.Address], item.Address
	}
	switch {
	case item.Name != "" && item.Address != "":
		return nil, r, "address", errors.New("must not be given beside name")
	case named == "":
		return nil, r, "name", errors.New("is required unless there is an address")
	case p == nil:
		return nil, r, member, fmt.Errorf("%.80q is not a tag of the driver", named)
	}
	r = tags.Reading{Quality: tags.Good, Time: item.Time}
	if item.Quality != nil {
		r.Quality = *item.Quality
	}
	if r.Quality > tags.Good {
		return nil, r, "quality", fmt.Errorf("%s is not Good, Uncertain or Bad", r.Quality)
	}
	if r.Time.IsZero() {
		r.Time = now
	}
	switch {
	case r.Time.Sub(now) > maxAhead:
		return nil, r, "time", fmt.Errorf("%s is more than a day in the future", r.Time.Format(time.RFC3339))
	case r.Time.Before(time.Unix(0, 0)):
		return nil, r, "time", fmt.Errorf("%s is before 1970", r.Time.Format(time.RFC3339))
	}
	if item.Value == nil && r.Quality == tags.Bad {
		return p, r, "", nil
	}
	if r.Value, err = p.value(item.Value); err != nil {
		return nil, r, "value", err
	}
	return p, r, "", nil
}

// take keeps and emits readings. The lock is held.
func (d *Driver) take(points []*point, readings []tags.Reading, now time.Time) {
	d.last = now
	at := time.Now()
	for i, p := range points {
		r := readings[i]
		if r.Late = r.Time.Before(p.newest.Time) && !p.newest.Time.After(now); !r.Late {
			p.newest, p.came = r, at
		}
		for s := range d.subs {
			for _, index := range s.indexes[p] {
				s.emit(index, converted(r, s.points[index].Type))
			}
		}
	}
}

package tags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
)

// WriteRequest asks for one write.
type WriteRequest struct {
	Tag     string
	Value   Value  // in engineering units, of the tag's data type
	Text    string // read by the tag's data type when Value is zero; see ParseValue
	By      string // who asks, for the log of writes
	Confirm bool   // read the value back, also when the tag does not ask for it
	// NotAfter is when the value must have been passed to the driver: a write that waits longer, behind a slow device or in a process that was
	// stopped, fails. It is compared with the clock of the engine that runs the driver: with several engines, allow for what their clocks differ.
	// Zero: the write waits as long as the driver is online.
	NotAfter time.Time
	ID       string // of the write; default: a new one
	// New makes the request an ErrWriteExists if there is a write of ID, so that who sends it again because an answer was lost does not write twice.
	New bool
}

// queuedWrite is a write on its way to the driver.
type queuedWrite struct {
	entry *entry
	tag   *Tag // by which it was checked
	item  WriteItem
	write Write

	notAfter time.Time
	names    []name // under which it was asked for, if the tag has others; see Redirector

	// Of reading back; for the runner's goroutine only.
	due, deadline time.Time
	wait          time.Duration
}

// name is a tag that stood for another one when a write was accepted.
type name struct {
	runner *runner
	entry  *entry
	tag    *Tag
	to     string
}

// holds reports whether the tag still stands for the same one.
func (n *name) holds() bool {
	to, ok := n.runner.redirect(n.tag)
	return ok && to == n.to && n.entry.takes(n.tag)
}

// Write queues one write and returns immediately; GetWrite returns the outcome. What the errors mean:
// ErrTagNotFound, ErrInvalidDriver (the tag's driver is not registered), ErrReadOnly,
// ErrInvalidValue (wrong type or outside minValue..maxValue), ErrDriverOffline, ErrQueueFull. After
// an error nothing is queued.
func (e *Engine) Write(ctx context.Context, q WriteRequest) (Write, error) {
	writes, errs, err := e.WriteMany(ctx, []WriteRequest{q})
	switch {
	case err != nil:
		return Write{}, err
	case errs[0] != nil:
		return Write{}, errs[0]
	}
	return writes[0], nil
}

// WriteMany queues writes in order. writes and errs have the length of requests: where errs[i] is
// nil, writes[i] is queued. A failure to log them is the error; then none is queued. More than
// MaxBatch requests are an ErrBatchSizeExceeded. Once the requests are checked, ending ctx
// does not withdraw them.
//
// Requests for a driver that another engine runs are passed on to it. If its answer does not come, errs[i] is an ErrWriteUnanswered
// with the id under which the write is found if it was queued.
func (e *Engine) WriteMany(ctx context.Context, requests []WriteRequest) (writes []Write, errs []error, err error) {
	writes, errs, err = e.WriteHere(ctx, requests)
	if err == nil && e.shared != nil {
		e.passOn(ctx, requests, writes, errs)
	}
	return writes, errs, err
}

// WriteHere is WriteMany without what other engines run: a request for such a driver is an ErrDriverOffline.
func (e *Engine) WriteHere(ctx context.Context, requests []WriteRequest) (writes []Write, errs []error, err error) {
	if len(requests) > MaxBatch {
		return nil, nil, ErrBatchSizeExceeded
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := e.beginWriting(); err != nil {
		return nil, nil, err
	}
	defer e.writing.Done()
	writes, errs = make([]Write, len(requests)), make([]error, len(requests))
	accepted := make([]*queuedWrite, len(requests))
	owners := make([]*runner, len(requests))
	var log []Write
	for i, q := range requests {
		if owners[i], accepted[i], errs[i] = e.accept(q); errs[i] != nil {
			continue
		}
		if errs[i] = e.claimID(ctx, &q); errs[i] != nil {
			owners[i].cancelWrite()
			accepted[i] = nil
			continue
		}
		log = append(log, accepted[i].write)
	}
	defer e.releaseIDs(accepted)
	if len(log) > 0 {
		if err := e.logAccepted(ctx, log); err != nil {
			for i, w := range accepted {
				if w != nil {
					owners[i].cancelWrite()
				}
			}
			return nil, nil, fmt.Errorf("log writes: %w", err)
		}
	}
	for i, w := range accepted {
		if w != nil {
			writes[i] = w.write
			owners[i].enqueue(w)
		}
	}
	return writes, errs, nil
}

// beginWriting keeps Close from ending the log of outcomes before what is accepted now has one.
func (e *Engine) beginWriting() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return ErrClosed
	}
	e.writing.Add(1)
	return nil
}

// logAccepted logs writes that are to be queued. A caller that goes away in the middle must not leave
// a write in the log that is never sent.
func (e *Engine) logAccepted(ctx context.Context, writes []Write) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logTimeout)
	defer cancel()
	return e.writes.Put(ctx, writes)
}

// GetWrite returns a write by its id, or ErrWriteNotFound. An outcome is returned also when the log of
// writes has not taken it yet.
func (e *Engine) GetWrite(ctx context.Context, id string) (Write, error) {
	if w, ok := e.outcomes.get(id); ok {
		return w, nil
	}
	return e.writes.Get(ctx, id)
}

// The limits of lists of writes.
const (
	MaxWritesPageSize = 1000
	maxWritesFilter   = 1024 // bytes
)

// WriteListQuery selects and pages writes.
type WriteListQuery struct {
	WriteFilter     // Address needs Driver
	Page        int // from 1; 0 counts as 1
	PageSize    int // 1..1000; 0 counts as 50
}

// ListWrites returns a page of the log of writes, newest first, with the number of all that are selected. A page after the last one is
// empty. Writes have their outcome also when the log has not taken it yet, and are selected by it. Filters, pages and states that are
// not valid are an ErrInvalidRequest, a page size above MaxWritesPageSize an ErrPageSizeExceeded, and a Start that is not before
// End an ErrInvalidTimeRange.
func (e *Engine) ListWrites(ctx context.Context, q WriteListQuery) (WritePage, error) {
	page, size := cmp.Or(q.Page, 1), cmp.Or(q.PageSize, DefaultPageSize)
	if err := q.check(page, size); err != nil {
		return WritePage{}, err
	}
	live := e.outcomes.pending() // before the log is read: what it takes meanwhile is the same
	live = slices.DeleteFunc(live, func(w Write) bool { return !q.selectsAside(w) })
	return e.writes.List(ctx, WriteQuery{WriteFilter: q.WriteFilter, Live: live,
		Offset: min(page-1, math.MaxInt32/size) * size, Limit: size, Count: true})
}

func (f *WriteFilter) check(page, size int) error {
	var bad []fault.Field
	add := func(field, format string, args ...any) {
		bad = append(bad, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	for _, t := range []struct{ field, text string }{{"driverId", f.Driver}, {"tagName", f.Tag}, {"address", f.Address}, {"requestedBy", f.By}} {
		if len(t.text) > maxWritesFilter {
			add(t.field, "must be at most %d bytes", maxWritesFilter)
		}
	}
	if f.Address != "" && f.Driver == "" {
		add("address", "needs driverId")
	}
	known := WriteStates()
	for _, s := range f.States {
		if !slices.Contains(known, s) {
			add("state", "must be of %s", join(known))
			break
		}
	}
	if page < 1 {
		add("page", "must be at least 1")
	}
	if size < 1 {
		add("pageSize", "must be at least 1")
	}
	switch {
	case len(bad) > 0:
		return ErrInvalidRequest.Invalid(bad...)
	case size > MaxWritesPageSize:
		return ErrPageSizeExceeded.Invalid(fault.Field{Field: "pageSize", Message: fmt.Sprintf("must be at most %d", MaxWritesPageSize)})
	case !f.Start.IsZero() && !f.End.IsZero() && !f.Start.Before(f.End):
		return ErrInvalidTimeRange.Invalid(fault.Field{Field: "start", Message: "must be before end"})
	}
	return nil
}

func join(states []WriteState) string {
	texts := make([]string, len(states))
	for i, s := range states {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// AwaitWrite is GetWrite that waits until the write has an outcome or ctx ends, whatever comes first. When ctx ends, it returns the
// write as it is then, without an error.
func (e *Engine) AwaitWrite(ctx context.Context, id string) (Write, error) {
	come, forget := e.outcomes.awaiting(id)
	defer forget()
	look := func() (Write, error) { // a log that hangs must not hold who waits
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logTimeout)
		defer cancel()
		return e.GetWrite(ctx, id)
	}
	w, err := look()
	pause := awaitMin
	other := time.NewTimer(pause)
	defer other.Stop()
	for err == nil && !w.State.Final() {
		select {
		case <-come:
			come = nil
		case <-other.C:
			pause = min(2*pause, awaitMax)
			other.Reset(pause)
		case <-ctx.Done():
			return w, nil
		}
		w, err = look()
	}
	return w, err
}

// How often a write that another engine may carry out, which shares the log, is looked for.
const (
	awaitMin = 500 * time.Millisecond
	awaitMax = 5 * time.Second
)

// target finds a tag that is to be written. Its definition and its driver are of the same moment.
func (e *Engine) target(name string) (*entry, *Tag, *runner) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	en := e.byName[name]
	if en == nil {
		return nil, nil, nil
	}
	tag := en.tag.Load()
	return en, tag, e.runners[tag.Driver]
}

// maxRedirects is how many tags a write may be redirected through.
const maxRedirects = 16

// accept checks a request and reserves a place in its driver's queue.
func (e *Engine) accept(q WriteRequest) (*runner, *queuedWrite, error) {
	return e.acceptFor(q, maxRedirects)
}

func (e *Engine) acceptFor(q WriteRequest, redirects int) (*runner, *queuedWrite, error) {
	en, tag, r := e.target(q.Tag)
	if en == nil {
		return nil, nil, ErrTagNotFound.On("tagName", clip(q.Tag))
	}
	if r == nil {
		return nil, nil, ErrInvalidDriver.On("driverId", tag.Driver).With("tagName", tag.Name)
	}
	if tag.Access != ReadWrite {
		return nil, nil, ErrReadOnly.On("tagName", tag.Name)
	}
	rounder, _ := r.driver.(Rounder)
	value, raw, err := tag.check(q, rounder)
	if err != nil {
		return nil, nil, err
	}
	if to, ok := r.redirect(tag); ok {
		if redirects == 0 {
			return nil, nil, ErrInvalidRequest.Because("the tag stands for too many others, one after the other").With("tagName", tag.Name)
		}
		q.Tag, q.Value, q.Confirm = to, raw, q.Confirm || tag.Confirm
		owner, w, err := e.acceptFor(q, redirects-1)
		if err == nil {
			w.names = append(w.names, name{r, en, tag, to})
		}
		return owner, w, err
	}
	if err := r.reserve(tag.Name); err != nil {
		return nil, nil, err
	}
	return r, &queuedWrite{
		entry: en,
		tag:   tag,
		item:  WriteItem{Point: tag.point(), Value: raw}, notAfter: q.NotAfter,
		write: Write{ID: e.writeID(q), Tag: tag.Name, Driver: tag.Driver, Address: tag.Address, Value: value, By: q.By, State: WriteQueued,
			Confirm: q.Confirm || tag.Confirm, QueuedAt: e.now().UTC().Truncate(time.Microsecond)},
	}, nil
}

// redirect returns the tag that a tag stands for, if it does.
func (r *runner) redirect(t *Tag) (to string, ok bool) {
	d, is := r.driver.(Redirector)
	if !is {
		return "", false
	}
	err := r.guarded(func() error {
		to, ok = d.WriteTarget(t.point())
		return nil
	})
	return to, ok && err == nil
}

// check returns a request's value in engineering units, and in raw units as the device will hold it.
func (t *Tag) check(q WriteRequest, rounder Rounder) (value, raw Value, err error) {
	if q.Value.IsZero() {
		value, err = ParseValue(t.DataType, q.Text)
	} else {
		value, err = q.Value.Convert(t.DataType)
	}
	if err != nil {
		return Value{}, Value{}, about(err, t)
	}
	if t.outside(value) {
		return Value{}, Value{}, ErrInvalidValue.Because("%s is outside %s", value, t.limits()).With("tagName", t.Name)
	}
	raw, ok := t.raw(value)
	if !ok {
		return Value{}, Value{}, ErrInvalidValue.Because("%s cannot be scaled back to a raw value", value).With("tagName", t.Name)
	}
	if raw, err = t.rounded(raw, rounder); err != nil {
		return Value{}, Value{}, about(err, t)
	}
	held, ok := t.engineering(raw)
	switch {
	case !ok:
		err = ErrInvalidValue.Because("the device cannot hold %s", value)
	case t.outside(held):
		err = ErrInvalidValue.Because("the device would hold %s, which is outside %s", held, t.limits())
	case t.DataType == Int && held != value:
		err = ErrInvalidValue.Because("the device cannot hold %s exactly; the nearest is %s", value, held)
	}
	if err != nil {
		return Value{}, Value{}, about(err, t)
	}
	return value, raw, nil
}

// rounded returns the raw value that the device will hold when raw is written, as far as its driver
// knows.
func (t *Tag) rounded(raw Value, rounder Rounder) (Value, error) {
	if rounder == nil {
		return raw, nil
	}
	err := guard(func() (err error) {
		raw, err = rounder.Round(t.point(), raw)
		return err
	})
	if err == nil {
		return raw, nil
	}
	if errors.Is(err, ErrInvalidValue) {
		return Value{}, err
	}
	return Value{}, ErrInvalidValue.Because("the device cannot hold it").Wrap(err)
}

// about adds the tag's name to an error.
func about(err error, t *Tag) error {
	if f, ok := fault.From(err); ok {
		return f.With("tagName", t.Name)
	}
	return err
}

func (t *Tag) limits() string {
	low, high := "", ""
	if t.Min != nil {
		low = FloatValue(*t.Min).String()
	}
	if t.Max != nil {
		high = FloatValue(*t.Max).String()
	}
	return low + ".." + high
}

package hubs

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/transport/alarmsapi"
	"github.com/otkit/otkit/transport/signalr"
)

const (
	alarmsInMessage = 250
	// feedInterval is the least time between two messages of alarms, so that a flood is sent in batches.
	feedInterval = 50 * time.Millisecond
	// maxBehind is how many transitions a client may have missed. Reading all alarms anew takes less than more of them.
	maxBehind = 20_000
	// maxCatchUps bounds how many clients read the journal at a time, since alarms are stored in the same database.
	maxCatchUps = 2
	feedRetry   = time.Second // between attempts to read the journal
	feedTimeout = 10 * time.Second
)

// position is a place in the journal: behind an event. check is of the event's ID, which tells the journals of two databases apart, such
// as one and its backup; it is empty where the event is not known.
type position struct {
	seq   int64
	check string
}

func positionOf(e *alarms.Event) position {
	return position{e.Seq, e.ID[max(0, len(e.ID)-8):]}
}

func (p position) String() string {
	if p.check == "" {
		return strconv.FormatInt(p.seq, 10)
	}
	return strconv.FormatInt(p.seq, 10) + "-" + p.check
}

func parsePosition(text string) (position, error) {
	number, check, _ := strings.Cut(text, "-")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 0 {
		return position{}, ErrInvalidRequest.Because("since is not a position")
	}
	return position{seq, check}, nil
}

// transition is an event as clients get it.
type transition struct {
	Position string     `json:"position"`
	Kind     string     `json:"kind"`
	At       time.Time  `json:"at"`
	By       string     `json:"by"`
	Comment  string     `json:"comment"`
	Code     int64      `json:"code"`
	Until    *time.Time `json:"until,omitempty"`
	Alarm    any        `json:"alarm"` // null for a condition that never had an occurrence
}

// transitions are what clients get together.
type transitions struct {
	Position string       `json:"position"`
	Items    []transition `json:"items"`
}

func transitionsOf(events []alarms.Event) (*signalr.Message, error) {
	t := transitions{Items: make([]transition, len(events))}
	for i := range events {
		e := &events[i]
		item := transition{Kind: strings.ToLower(string(e.Kind[:1])) + string(e.Kind[1:]), At: e.At.UTC(), By: e.By, Comment: e.Comment, Code: e.Occurrence.Code}
		if e.Seq > 0 {
			item.Position = positionOf(e).String()
		}
		if !e.Until.IsZero() {
			until := e.Until.UTC()
			item.Until = &until
		}
		if e.Occurrence.ID != "" {
			item.Alarm = alarmsapi.Info(&e.Occurrence)
		}
		t.Items[i], t.Position = item, item.Position
	}
	return signalr.NewMessage("alarms", t)
}

// alarmFeed sends the journal of alarms to clients, each from a position on. A client that keeps up gets messages that all share; one that
// does not, or comes from an earlier position, is sent what it reads itself from the journal until it has caught up.
type alarmFeed struct {
	journal ConsoleJournal
	log     *slog.Logger
	joined  chan struct{} // holds a token if readers may have become more than none
	slots   chan struct{} // one for each that reads the journal

	mu      sync.Mutex
	stopped bool
	begun   bool     // last is known
	last    position // of what readers that keep up have been sent
	readers map[*signalr.Client]*reader
	running sync.WaitGroup
}

// reader is a client that follows the journal.
type reader struct {
	client *signalr.Client
	after  position // of what it was sent
	live   bool     // it keeps up; else a goroutine lets it catch up
	end    context.CancelFunc
	ended  chan struct{} // closed when it does not catch up
}

func newAlarmFeed(journal ConsoleJournal, log *slog.Logger) *alarmFeed {
	return &alarmFeed{journal: journal, log: log, joined: make(chan struct{}, 1), slots: make(chan struct{}, maxCatchUps), readers: make(map[*signalr.Client]*reader)}
}

// followAlarms is the method Alarms.
func (c *Console) followAlarms(ctx context.Context, client *signalr.Client, args signalr.Arguments) (any, error) {
	var since string
	if err := args.Into(&since); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, feedTimeout)
	defer cancel()
	began, err := c.feed.join(ctx, client, since)
	if err != nil {
		return nil, err
	}
	return map[string]string{"position": began.String()}, nil
}

// join lets a client follow, in place of what it followed before. After an error it follows that still.
func (f *alarmFeed) join(ctx context.Context, client *signalr.Client, since string) (position, error) {
	last, err := f.begin(ctx)
	if err != nil {
		return position{}, err
	}
	after := last
	if since != "" {
		if after, err = parsePosition(since); err != nil {
			return position{}, err
		}
		if err := f.check(ctx, after, last); err != nil {
			return position{}, err
		}
	}
	f.leave(client)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return position{}, ErrStopping
	}
	if !f.begun { // the last reader has left meanwhile
		f.begun, f.last = true, last
	}
	r := &reader{client: client, after: after, end: func() {}, ended: make(chan struct{})}
	f.readers[client] = r
	context.AfterFunc(client.Context(), func() { f.remove(client, r) })
	if after.seq < f.last.seq {
		f.catchUp(r)
	} else {
		r.live = true
		close(r.ended)
	}
	select {
	case f.joined <- struct{}{}:
	default:
	}
	return after, nil
}

// begin returns the position of readers that keep up, which is the present if there is none.
func (f *alarmFeed) begin(ctx context.Context) (position, error) {
	f.mu.Lock()
	last, begun := f.last, f.begun
	f.mu.Unlock()
	if begun {
		return last, nil
	}
	seq, err := f.journal.End(ctx)
	if err != nil || seq == 0 {
		return position{}, err
	}
	events, err := f.journal.Events(ctx, seq-1, 1)
	if err == nil && len(events) > 0 && events[0].Seq == seq {
		return positionOf(&events[0]), nil
	}
	return position{seq: seq}, err
}

// check returns an error if the journal does not have everything behind a position.
func (f *alarmFeed) check(ctx context.Context, p, last position) error {
	newest, err := f.journal.End(ctx)
	switch {
	case err != nil:
		return err
	case newest-p.seq > maxBehind:
		return ErrPositionGone
	}
	events, err := f.journal.Events(ctx, max(p.seq-1, 0), 2)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		if first := positionOf(&events[0]); first.seq == p.seq {
			if p.check != "" && first.check != p.check {
				return ErrPositionGone
			}
			events = events[1:]
		}
	}
	// What comes next must be next to it: there may be a hole where what could not be read, or was of an earlier time, is gone. A client
	// that were let follow from before one would be dismissed there again and again.
	whole := p.seq == max(newest, last.seq)
	if len(events) > 0 {
		whole = events[0].Seq == p.seq+1
	}
	if !whole {
		return ErrPositionGone
	}
	return nil
}

// leave ends what a client follows, and returns when nothing more is sent.
func (f *alarmFeed) leave(client *signalr.Client) {
	f.mu.Lock()
	r := f.readers[client]
	f.mu.Unlock()
	if r != nil {
		f.remove(client, r)
		<-r.ended
	}
}

func (f *alarmFeed) remove(client *signalr.Client, r *reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.end()
	if f.readers[client] == r {
		delete(f.readers, client)
	}
	f.begun = f.begun && len(f.readers) > 0
}

// run sends until ctx ends.
func (f *alarmFeed) run(ctx context.Context) {
	var announced sync.WaitGroup
	announced.Go(func() {
		_ = f.journal.Follow(ctx, alarms.SubscribeOptions{}, f.announce) // it ends with ctx or the service
	})
	for ctx.Err() == nil {
		if err := f.step(ctx); err != nil && ctx.Err() == nil {
			if errors.Is(err, alarms.ErrClosed) {
				break
			}
			f.log.ErrorContext(ctx, "failed to read the alarm journal for consoles; retrying", "error", err)
			wait(ctx, feedRetry)
		}
	}
	announced.Wait()
	f.mu.Lock()
	f.stopped = true
	for _, r := range f.readers {
		r.end()
	}
	f.mu.Unlock()
	f.running.Wait()
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// step sends the next events, or waits for a reader.
func (f *alarmFeed) step(ctx context.Context) error {
	f.mu.Lock()
	after, begun := f.last, f.begun
	f.mu.Unlock()
	if !begun {
		select {
		case <-f.joined:
		case <-ctx.Done():
		}
		return nil
	}
	if err := f.journal.Wait(ctx, after.seq); err != nil {
		return err
	}
	reading, cancel := context.WithTimeout(ctx, feedTimeout)
	defer cancel()
	newest, err := f.journal.End(reading)
	if err != nil {
		return err
	}
	events, err := f.journal.Events(reading, after.seq, alarmsInMessage)
	switch {
	case err != nil:
		return err
	case len(events) > 0:
		f.publish(after, events)
	case newest > after.seq:
		f.skip(after, position{seq: newest})
	}
	if len(events) < alarmsInMessage {
		wait(ctx, feedInterval)
	}
	return nil
}

// publish sends the events behind a position to the readers that keep up.
func (f *alarmFeed) publish(after position, events []alarms.Event) {
	m, err := transitionsOf(events)
	if err != nil {
		f.log.Error("failed to encode alarms for consoles", "error", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun || f.last != after { // all have left, and others have come
		return
	}
	f.last = positionOf(&events[len(events)-1])
	for _, r := range f.readers {
		switch {
		case !r.live || r.after.seq >= f.last.seq: // it may have read further with another engine
		case r.after.seq == after.seq && r.client.Queued() <= consoleQueue && m != nil:
			r.client.Send(m)
			r.after = f.last
		default:
			f.catchUp(r)
		}
	}
}

// skip passes over events that were trimmed before they were read.
func (f *alarmFeed) skip(after, to position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun || f.last != after {
		return
	}
	f.last = to
	for _, r := range f.readers {
		if r.live && r.after.seq < to.seq {
			r.after = to
		}
	}
}

// announce sends alarms that cannot be stored yet. They come again with a position.
func (f *alarmFeed) announce(events []alarms.Event) {
	var early []alarms.Event
	for i := range events {
		if events[i].Seq == 0 {
			early = append(early, events[i])
		}
	}
	if len(early) == 0 {
		return
	}
	m, err := transitionsOf(early)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.readers {
		if r.client.Queued() <= consoleQueue {
			r.client.Send(m)
		}
	}
}

// catchUp begins to send a reader what it lacks. f.mu is held.
func (f *alarmFeed) catchUp(r *reader) {
	ctx, cancel := context.WithCancel(r.client.Context())
	r.live, r.end, r.ended = false, cancel, make(chan struct{})
	if f.stopped {
		cancel()
		close(r.ended)
		return
	}
	ended := r.ended
	f.running.Go(func() {
		defer close(ended)
		defer cancel()
		for more := true; more; {
			var err error
			if more, err = f.sendMissed(ctx, r); err != nil && ctx.Err() == nil {
				if errors.Is(err, ErrPositionGone) || errors.Is(err, alarms.ErrClosed) {
					r.client.Dismiss("The journal of alarms does not go back to the client's position.")
					return
				}
				f.log.ErrorContext(ctx, "failed to read the alarm journal for a console; retrying", "error", err)
				wait(ctx, feedRetry)
				more = true
			}
			more = more && ctx.Err() == nil
		}
	})
}

// sendMissed sends a reader some of what it lacks, when there is room for it, and reports whether it lacks more.
func (f *alarmFeed) sendMissed(ctx context.Context, r *reader) (more bool, err error) {
	if err := r.client.WaitForRoom(ctx, consoleQueue); err != nil {
		return false, err
	}
	f.mu.Lock()
	after, last := r.after, f.last
	f.mu.Unlock()
	if last.seq-after.seq > maxBehind {
		return false, ErrPositionGone
	}
	events, err := f.missed(ctx, after, last)
	if err != nil {
		return false, err
	}
	m, err := transitionsOf(events)
	if err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if len(events) > 0 {
		r.client.Send(m)
		r.after = positionOf(&events[len(events)-1])
	}
	r.live = r.after.seq >= f.last.seq
	return !r.live, nil
}

// missed reads events behind a position, up to what others have been sent: a reader joins them there.
func (f *alarmFeed) missed(ctx context.Context, after, last position) ([]alarms.Event, error) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, feedTimeout)
	defer cancel()
	events, err := f.journal.Events(ctx, after.seq, alarmsInMessage)
	if err != nil {
		return nil, err
	}
	for len(events) > 0 && events[len(events)-1].Seq > last.seq {
		events = events[:len(events)-1]
	}
	if len(events) == 0 && after.seq < last.seq || len(events) > 0 && events[0].Seq != after.seq+1 {
		return nil, ErrPositionGone // trimmed meanwhile
	}
	return events, nil
}

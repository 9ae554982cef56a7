package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
)

// Journal is where alarms are followed. Every alarms.Store is one.
type Journal interface {
	// Events gives at most limit events with a number above after, in ascending order. An event never
	// becomes visible after one with a higher number has.
	Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error)
}

// Deps are what a [Dispatcher] works with. All are required except History: without it alarms are
// told and no records of them are made, those of a [Webhook] apart.
type Deps struct {
	Journal     Journal
	Outbox      Outbox
	DeadLetters DeadLetters
	Silences    *Silences
	History     HistoryStore
	Channels    []Channel // with different names
}

// Dispatcher tells channels of alarms. Close must be called. Safe for concurrent use.
type Dispatcher struct {
	deps      Deps
	o         Options
	log       *slog.Logger
	channels  map[string]Channel
	workers   map[string]*worker
	routes    Routes
	templates map[string]*Template

	wake   chan struct{}
	cancel context.CancelFunc // ends the goroutines
	hard   context.Context    // of what is being sent
	kill   context.CancelFunc
	done   sync.WaitGroup
}

// NewDispatcher checks everything and starts to dispatch.
func NewDispatcher(deps Deps, o Options) (*Dispatcher, error) {
	if deps.Journal == nil || deps.Outbox == nil || deps.DeadLetters == nil || deps.Silences == nil {
		return nil, errors.New("alerting: a Dispatcher needs Deps.Journal, Outbox, DeadLetters and Silences")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{
		deps: deps, o: o, log: o.Logger, channels: make(map[string]Channel), workers: make(map[string]*worker),
		templates: make(map[string]*Template), wake: make(chan struct{}, 1),
	}
	for _, c := range deps.Channels {
		if c == nil || c.Name() == "" || d.channels[c.Name()] != nil {
			return nil, errors.New("alerting: Deps.Channels must have names that differ")
		}
		d.channels[c.Name()] = c
	}
	if d.routes, err = o.Routes.withDefaults(d.channels); err != nil {
		return nil, err
	}
	if err := d.compileTemplates(); err != nil {
		return nil, err
	}
	for name := range o.Flood {
		if _, known := d.templates[name]; !known {
			return nil, fmt.Errorf("alerting: Options.Flood names the channel %q, which is not known", name)
		}
	}
	if missing := d.routes.missing(d.channels); len(missing) > 0 {
		d.log.Info("channels without settings are left out", "channels", missing)
	}
	d.start()
	return d, nil
}

// compileTemplates gives every channel that is known a template, and "" the one of all the others.
func (d *Dispatcher) compileTemplates() error {
	all, err := CompileTemplate(d.o.Templates[""])
	if err != nil {
		return err
	}
	d.templates[""] = all
	for _, name := range KnownChannels() {
		d.templates[name] = all
	}
	for name := range d.channels {
		d.templates[name] = all
	}
	for name, text := range d.o.Templates {
		if _, known := d.templates[name]; !known {
			return fmt.Errorf("alerting: Options.Templates names the channel %q, which is not known", name)
		}
		if text.Subject == "" {
			text.Subject = d.o.Templates[""].Subject
		}
		if text.Body == "" {
			text.Body = d.o.Templates[""].Body
		}
		if d.templates[name], err = CompileTemplate(text); err != nil {
			return fmt.Errorf("channel %s: %w", name, err)
		}
	}
	return nil
}

func (d *Dispatcher) start() {
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.hard, d.kill = context.WithCancel(context.Background())
	for name, c := range d.channels {
		w := &worker{d: d, channel: c, name: name, wake: make(chan struct{}, 1), bucket: newBucket(d.o.flood(name), d.o.Now())}
		d.workers[name] = w
		d.done.Go(func() { w.run(ctx) })
	}
	d.done.Go(func() { d.plan(ctx) })
	d.done.Go(func() { d.trim(ctx) })
}

// Close stops dispatching and waits until it has. Messages that are being sent may end within
// [Options.Grace]; what is not sent stays in the outbox.
func (d *Dispatcher) Close() {
	d.cancel()
	late := time.AfterFunc(d.o.Grace, d.kill)
	d.done.Wait()
	late.Stop()
	d.kill()
}

// Wake makes the dispatcher look at the journal now. It never blocks; call it when alarms were stored.
func (d *Dispatcher) Wake() { poke(d.wake) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait returns after some time, or sooner when poked, or with false when ctx has ended.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// trim forgets old deliveries from time to time.
func (d *Dispatcher) trim(ctx context.Context) {
	for {
		if err := d.deps.Outbox.TrimDeliveries(ctx, d.o.Now().Add(-d.o.Keep)); err != nil && ctx.Err() == nil {
			d.log.Warn("old deliveries cannot be removed", "error", err)
		}
		if !wait(ctx, nil, time.Hour) {
			return
		}
	}
}

// Test sends a message to a channel at once, past routes, outbox and limits. It gives
// [ErrChannelNotFound], or [ErrChannelFailed] with the channel's own words.
func (d *Dispatcher) Test(ctx context.Context, channel string) error {
	c := d.channels[channel]
	if c == nil {
		return ErrChannelNotFound.On("channel", channel)
	}
	id := d.o.NewID()
	n := Notification{
		ID: id, EventID: id, Channel: channel, Severity: alarms.Info, Source: "otkit", SourceType: "Equipment",
		Message: "Test message", Title: "Test message", Body: "This is a test of the channel " + channel + ".", At: stamp(d.o.Now()),
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.SendTimeout)
	defer cancel()
	if err := send(ctx, c, n); err != nil {
		return ErrChannelFailed.Because("%s", err).Wrap(err)
	}
	return nil
}

// ChannelStatus tells how a channel does.
type ChannelStatus struct {
	Name        string
	Sent        uint64    // messages taken since the start
	Failed      uint64    // attempts that failed since the start
	PausedUntil time.Time // zero unless the channel waits after failures
	LastError   string    // of the last attempt; empty when it succeeded
}

// Channels tells how each channel does, in no order.
func (d *Dispatcher) Channels() []ChannelStatus {
	list := make([]ChannelStatus, 0, len(d.workers))
	for _, w := range d.workers {
		list = append(list, w.report())
	}
	return list
}

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
// [ErrDeadLetterNotFound].
func (d *Dispatcher) Retry(ctx context.Context, id string) error {
	guid, ok := canonicalID(id)
	if !ok {
		return ErrDeadLetterNotFound.On("id", id)
	}
	n, err := d.revive(ctx, guid, "")
	if err == nil && n == 0 {
		return ErrDeadLetterNotFound.On("id", id)
	}
	return err
}

// RetryAll sends all dead letters of a channel again, or of every channel when it is empty, and gives
// their number.
func (d *Dispatcher) RetryAll(ctx context.Context, channel string) (int, error) {
	return d.revive(ctx, "", channel)
}

func (d *Dispatcher) revive(ctx context.Context, id, channel string) (int, error) {
	now := stamp(d.o.Now())
	n, err := d.deps.DeadLetters.ReviveDeadLetters(ctx, id, channel, now, now.Add(d.o.MaxAge))
	for _, w := range d.workers {
		w.poke()
	}
	return n, err
}

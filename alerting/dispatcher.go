package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/alarms"
)

// Journal is where alarms are followed. Every alarms.Store is one.
type Journal interface {
	// Events gives at most limit events with a number above after, in ascending order. An event never
	// becomes visible after one with a higher number has.
	Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error)
	// Occurrence gives an occurrence as it is now, or alarms.ErrAlarmNotFound.
	Occurrence(ctx context.Context, id string) (alarms.Occurrence, error)
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

// Dispatcher tells channels of alarms, from Start to Close. Close must be called. Safe for concurrent
// use.
type Dispatcher struct {
	deps      Deps
	o         Options
	log       *slog.Logger
	channels  map[string]Channel
	workers   map[string]*worker
	routes    Routes
	templates map[string]*Template
	steps     *steps

	wake   chan struct{}
	died   chan struct{}   // poked when there are more or fewer dead letters
	live   context.Context // of the goroutines
	cancel context.CancelFunc
	hard   context.Context // of what is being sent
	kill   context.CancelFunc
	begin  sync.Once
	done   sync.WaitGroup

	late atomic.Bool // something was planned as silenced whose silence has ended already

	mu       sync.Mutex
	troubles map[string]error // by what cannot do its work
}

// NewDispatcher checks everything. The dispatcher does nothing by itself until Start.
func NewDispatcher(deps Deps, o Options) (*Dispatcher, error) {
	if deps.Journal == nil || deps.Outbox == nil || deps.DeadLetters == nil || deps.Silences == nil {
		return nil, errors.New("alerting: a Dispatcher needs Deps.Journal, Outbox, DeadLetters and Silences")
	}
	d, err := prepare(deps, o)
	if err != nil {
		return nil, err
	}
	if missing := d.routes.missing(d.channels); len(missing) > 0 {
		d.log.Info("channels without settings are left out", "channels", missing)
	}
	for name, c := range d.channels {
		d.workers[name] = newWorker(d, c)
	}
	d.live, d.cancel = context.WithCancel(context.Background())
	d.hard, d.kill = context.WithCancel(context.Background())
	return d, nil
}

// Check says what [NewDispatcher] would say about the options and the channels.
func (o Options) Check(channels ...Channel) error {
	_, err := prepare(Deps{Channels: channels}, o)
	return err
}

// prepare makes what depends on the channels and the options alone.
func prepare(deps Deps, o Options) (*Dispatcher, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{
		deps: deps, o: o, log: o.Logger, channels: make(map[string]Channel), workers: make(map[string]*worker),
		templates: make(map[string]*Template), steps: newSteps(o.Now), wake: make(chan struct{}, 1), died: make(chan struct{}, 1), troubles: make(map[string]error),
	}
	for _, c := range deps.Channels {
		if c == nil || c.Name() == "" || d.channels[c.Name()] != nil {
			return nil, errors.New("alerting: Deps.Channels must have names that differ")
		}
		if len(recipientsOf(c)) == 0 {
			return nil, fmt.Errorf("alerting: Deps.Channels: %s has no recipients", c.Name())
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

// Start begins to dispatch. It returns at once; a second call does nothing.
func (d *Dispatcher) Start() {
	d.begin.Do(func() {
		for _, w := range d.workers {
			d.done.Go(func() { w.run(d.live) })
		}
		d.done.Go(func() { d.plan(d.live) })
		d.done.Go(func() { d.endSilences(d.live) })
		d.done.Go(func() { d.trim(d.live) })
		if d.o.OnDead != nil {
			d.done.Go(func() { d.tellDead(d.live) })
		}
	})
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

func (d *Dispatcher) pokeWorkers() {
	for _, w := range d.workers {
		w.poke()
	}
}

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

// trim forgets old deliveries from time to time, and gives up those that have expired and have no
// worker.
func (d *Dispatcher) trim(ctx context.Context) {
	for {
		now := d.o.Now()
		if err := d.expireOthers(ctx, stamp(now)); err != nil && ctx.Err() == nil {
			d.log.Warn("messages of channels without settings cannot be given up", "error", err)
		}
		before, standing := d.steps.before(now.Add(-d.o.Keep)), d.steps.before(now.Add(-d.o.KeepStanding))
		if err := d.deps.Outbox.TrimDeliveries(ctx, before, standing); err != nil && ctx.Err() == nil {
			d.log.Warn("old deliveries cannot be removed", "error", err)
		}
		poke(d.died)
		if !wait(ctx, nil, time.Hour) {
			return
		}
	}
}

// expireOthers gives up what is for channels that were taken out of the settings.
func (d *Dispatcher) expireOthers(ctx context.Context, now time.Time) error {
	expired := d.steps.before(now.Add(-d.o.MaxAge)).Add(d.o.MaxAge)
	counts, err := d.deps.Outbox.ExpireOthers(ctx, slices.Sorted(maps.Keys(d.channels)), now, expired, notInTime)
	for _, channel := range slices.Sorted(maps.Keys(counts)) {
		d.log.Error("messages of a channel without settings are given up", "channel", channel, "number", counts[channel], "error", notInTime)
	}
	return err
}

// trouble keeps what cannot do its work and why, nil when it can, and says whether that is news.
func (d *Dispatcher) trouble(what string, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.troubles[what]
	if err == nil {
		delete(d.troubles, what)
	} else {
		d.troubles[what] = err
	}
	return (was == nil) != (err == nil)
}

// Err says why alarms are not dispatched, such as a store that cannot be used; nil while they are. What
// a channel does not take is no such error.
func (d *Dispatcher) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []error
	for _, what := range slices.Sorted(maps.Keys(d.troubles)) {
		all = append(all, fmt.Errorf("%s: %w", what, d.troubles[what]))
	}
	return errors.Join(all...)
}

// testsAtOnce bounds the recipients that a test tells at the same time.
const testsAtOnce = 8

// Test sends a message to every recipient of a channel at once, past routes, outbox and limits. It
// gives [ErrChannelNotFound], or [ErrChannelFailed] with the channel's own words, which names the
// recipients that failed.
func (d *Dispatcher) Test(ctx context.Context, channel string) error {
	c := d.channels[channel]
	if c == nil {
		return ErrChannelNotFound.On("channel", channel)
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.SendTimeout)
	defer cancel()
	recipients := recipientsOf(c)
	errs := make([]error, len(recipients))
	turn := make(chan struct{}, testsAtOnce)
	var all sync.WaitGroup
	for i, r := range recipients {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			if err := d.testOne(ctx, c, r); err != nil && r != "" {
				errs[i] = fmt.Errorf("recipient %s: %w", r, err)
			} else {
				errs[i] = err
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return ErrChannelFailed.Because("%s", strings.ReplaceAll(err.Error(), "\n", "; ")).Wrap(err)
	}
	return nil
}

func (d *Dispatcher) testOne(ctx context.Context, c Channel, recipient string) error {
	if err := ctx.Err(); err != nil {
		return err // others have taken all the time
	}
	id := d.o.NewID()
	return send(ctx, c, Notification{
		ID: id, EventID: id, Channel: c.Name(), Recipient: recipient, Severity: alarms.Info, Source: "otkit", SourceType: "Equipment",
		Message: "Test message", Title: "Test message", Body: "This is a test of the channel " + c.Name() + ".", At: stamp(d.o.Now()),
	})
}

// ChannelStatus tells how a channel does.
type ChannelStatus struct {
	Name        string
	Sent        uint64    // messages taken since the start
	Failed      uint64    // attempts that failed since the start
	PausedUntil time.Time // zero unless every recipient waits after failures
	LastError   string    // of the last attempt; empty when it succeeded
}

// Channels tells how each channel does, by name.
func (d *Dispatcher) Channels() []ChannelStatus {
	list := make([]ChannelStatus, 0, len(d.workers))
	for _, name := range slices.Sorted(maps.Keys(d.workers)) {
		list = append(list, d.workers[name].report())
	}
	return list
}

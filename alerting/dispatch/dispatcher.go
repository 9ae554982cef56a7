package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/wake"
)

// Journal is the alarm journal. Every alarms.Store implements it.
type Journal interface {
	// Events returns at most limit events with a number above after, in ascending order. An event never becomes visible after one
	// with a higher number.
	Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error)
	// OccurrencesByID returns the occurrences with these ids as they are now, in any order. Unknown ids are omitted.
	OccurrencesByID(ctx context.Context, ids []string) ([]alarms.Occurrence, error)
}

// Deps are what a [Dispatcher] works with.
type Deps struct {
	Journal  Journal
	Outbox   outbox.Store
	Silences *silences.Service
	Channels []alerting.Channel // with different names

	// History receives the records of alarms, other than those of received alerts. Optional: without it no records are made.
	History history.Writer
	// DeadLetters returns dead letters. Default: Outbox, if it implements [outbox.DeadLetters]; otherwise [outbox.ErrNoDeadLetters] is
	// returned for dead letters.
	DeadLetters outbox.DeadLetters
}

// Dispatcher plans and sends notifications, from Start to Close. Close must be called. Safe for concurrent use.
type Dispatcher struct {
	deps      Deps
	o         Options
	log       *slog.Logger
	channels  map[string]alerting.Channel
	workers   map[string]*worker
	routes    alerting.Routes
	templates map[string]*Template
	clock     *clockJumps

	// The optional interfaces of the outbox, nil if it does not implement them.
	digests outbox.DigestSplitter
	cleaner outbox.Cleaner
	sent    outbox.SentLister
	claims  outbox.ClaimReleaser

	wake         wake.Signal
	deadLettered wake.Signal     // there are more or fewer dead letters
	live         context.Context // of the goroutines
	cancel       context.CancelFunc
	hard         context.Context // of what is being sent
	kill         context.CancelFunc
	begin        sync.Once
	done         sync.WaitGroup

	endedSilence atomic.Bool // something was planned as silenced whose silence has ended already

	mu   sync.Mutex
	errs map[string]error // by what cannot do its work
}

// New returns a dispatcher, which does nothing until Start.
func New(deps Deps, o Options) (*Dispatcher, error) {
	for _, dep := range []struct {
		name    string
		missing bool
	}{{"Journal", deps.Journal == nil}, {"Outbox", deps.Outbox == nil}, {"Silences", deps.Silences == nil}} {
		if dep.missing {
			return nil, fault.Option("dispatch", "Deps."+dep.name, "is required")
		}
	}
	d, err := prepare(deps, o)
	if err != nil {
		return nil, err
	}
	d.digests, _ = deps.Outbox.(outbox.DigestSplitter)
	d.cleaner, _ = deps.Outbox.(outbox.Cleaner)
	d.sent, _ = deps.Outbox.(outbox.SentLister)
	d.claims, _ = deps.Outbox.(outbox.ClaimReleaser)
	if d.deps.DeadLetters == nil {
		d.deps.DeadLetters, _ = deps.Outbox.(outbox.DeadLetters)
	}
	if missing := missingChannels(d.routes, d.channels); len(missing) > 0 {
		d.log.Info("channels without settings omitted", "channels", missing)
	}
	d.live, d.cancel = context.WithCancel(context.Background())
	d.hard, d.kill = context.WithCancel(context.Background())
	for name, c := range d.channels {
		d.workers[name] = newWorker(d, c)
	}
	return d, nil
}

// Validate returns the error that [New] would return about the options and the channels.
func (o Options) Validate(channels ...alerting.Channel) error {
	_, err := prepare(Deps{Channels: channels}, o)
	return err
}

// prepare checks what depends on the channels and the options alone.
func prepare(deps Deps, o Options) (*Dispatcher, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{
		deps: deps, o: o, log: o.Logger, channels: make(map[string]alerting.Channel), workers: make(map[string]*worker),
		templates: make(map[string]*Template), clock: newClockJumps(o.Now), wake: wake.NewSignal(), deadLettered: wake.NewSignal(),
		errs: make(map[string]error),
	}
	for _, c := range deps.Channels {
		switch {
		case c == nil:
			return nil, errors.New("dispatch: Deps.Channels: a channel is nil")
		case c.Name() == "":
			return nil, errors.New("dispatch: Deps.Channels: a channel has no name")
		case d.channels[c.Name()] != nil:
			return nil, fmt.Errorf("dispatch: Deps.Channels: two channels have the name %q", c.Name())
		}
		if len(recipientsOf(c)) == 0 {
			return nil, fmt.Errorf("dispatch: Deps.Channels: %s has no recipients", c.Name())
		}
		d.channels[c.Name()] = c
	}
	if d.routes, err = completeRoutes(o.Routes, d.channels); err != nil {
		return nil, err
	}
	if err := checkUnrouted(d.routes, d.channels, o.Unrouted); err != nil {
		return nil, err
	}
	if err := d.compileTemplates(); err != nil {
		return nil, err
	}
	for name := range o.RateLimits {
		if _, known := d.templates[name]; !known {
			return nil, fmt.Errorf("dispatch: Options.RateLimits names the unknown channel %q", name)
		}
	}
	return d, nil
}

// compileTemplates compiles a template for each known channel, and that of all others as "".
func (d *Dispatcher) compileTemplates() error {
	all, err := CompileTemplate(d.o.Templates[""])
	if err != nil {
		return err
	}
	d.templates[""] = all
	for _, name := range alerting.KnownChannels() {
		d.templates[name] = all
	}
	for name := range d.channels {
		d.templates[name] = all
	}
	for name, text := range d.o.Templates {
		if _, known := d.templates[name]; !known {
			return fmt.Errorf("dispatch: Options.Templates names the unknown channel %q", name)
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

// Start starts planning and sending. A second call does nothing.
func (d *Dispatcher) Start() {
	d.begin.Do(func() {
		for _, w := range d.workers {
			d.done.Go(func() { w.run(d.live) })
		}
		d.done.Go(func() { d.runPlanner(d.live) })
		d.done.Go(func() { d.releaseSilenced(d.live) })
		d.done.Go(func() { d.maintain(d.live) })
		if d.o.Alive != nil && d.claims != nil {
			d.done.Go(func() { d.releaseClaims(d.live) })
		}
		if d.o.OnDeadLetter != nil && d.deps.DeadLetters != nil {
			d.done.Go(func() { d.reportDeadLetters(d.live) })
		}
	})
}

// Close stops planning and sending and waits until both have ended. Messages that are being sent may end within
// [Options.ShutdownTimeout] and before ctx does. What is not sent stays in the outbox. Close may be called twice.
func (d *Dispatcher) Close(ctx context.Context) error {
	d.cancel()
	late := time.AfterFunc(d.o.ShutdownTimeout, d.kill)
	defer late.Stop()
	defer context.AfterFunc(ctx, d.kill)()
	d.done.Wait()
	d.kill()
	return nil
}

// Wake makes the dispatcher read the journal now. It never blocks. Optional: otherwise the journal is read every PollInterval.
func (d *Dispatcher) Wake() { d.wake.Set() }

func (d *Dispatcher) wakeWorkers() {
	for _, w := range d.workers {
		w.wake.Set()
	}
}

// wait returns after a time, or sooner when woken. It returns false when ctx has ended.
func wait(ctx context.Context, woken <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-woken:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// setError keeps why something cannot do its work, nil if it can, and reports whether that has changed.
func (d *Dispatcher) setError(what string, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.errs[what]
	if err == nil {
		delete(d.errs, what)
	} else {
		d.errs[what] = err
	}
	return (was == nil) != (err == nil)
}

// Err returns why notifications are not sent, such as a store that fails; nil if they are. Failures of a channel are not such errors.
func (d *Dispatcher) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []error
	for _, what := range slices.Sorted(maps.Keys(d.errs)) {
		all = append(all, fmt.Errorf("%s: %w", what, d.errs[what]))
	}
	return errors.Join(all...)
}

// Channels returns the state of each channel, by name.
func (d *Dispatcher) Channels() []alerting.ChannelStatus {
	list := make([]alerting.ChannelStatus, 0, len(d.workers))
	for _, name := range slices.Sorted(maps.Keys(d.workers)) {
		list = append(list, d.workers[name].channelStatus())
	}
	return list
}

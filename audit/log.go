package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/wake"
)

// Log is the audit log of a process. Safe for concurrent use. It owns two goroutines, which Close ends.
type Log struct {
	store Store
	opts  Options

	slots chan struct{} // one for each act in progress and for each entry that is not stored; bounds the queue
	flood flood

	mu     sync.Mutex
	queue  []*request
	closed bool
	wakeUp wake.Signal

	wg     sync.WaitGroup
	stop   context.CancelFunc // ends maintenance
	giveUp context.CancelFunc // ends the writer

	stored, failed, lost atomic.Uint64
	failedAt             atomic.Int64 // when the last append failed, in nanoseconds; 0 if it succeeded
}

// New returns a log on a store and starts it. The store stays the caller's and is closed after the log.
func New(store Store, opts Options) (*Log, error) {
	if store == nil {
		return nil, errors.New("audit: store is required")
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{store: store, opts: opts, slots: make(chan struct{}, opts.MaxPending), wakeUp: wake.NewSignal()}
	writing, giveUp := context.WithCancel(context.Background())
	maintaining, stop := context.WithCancel(context.Background())
	l.giveUp, l.stop = giveUp, stop
	l.flood.limit = opts.RefusedPerMinute
	l.wg.Go(func() { l.write(writing) })
	l.wg.Go(func() { l.maintain(maintaining) })
	return l, nil
}

// Intent is an act whose intent is stored. Every intent must be ended once.
type Intent struct {
	log *Log
	seq int64
	end sync.Once
}

// Begin stores the intent of an act and returns when it is durable. If it cannot be stored, Begin returns an error of the
// kind [fault.Unavailable], that of the store or [ErrUnavailable], and the caller must not act; if ctx ends first, it
// returns its error.
func (l *Log) Begin(ctx context.Context, act Act) (*Intent, error) {
	if err := l.admit(); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(l.opts.AppendTimeout)
	defer timeout.Stop()
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timeout.C:
		return nil, ErrUnavailable.Because("too many acts are in progress")
	}
	r := &request{entry: Entry{Time: l.opts.Now(), Act: act.bounded()}, done: make(chan struct{})}
	if !l.enqueue(r) {
		<-l.slots
		return nil, ErrClosed
	}
	var gone error
	select {
	case <-r.done:
	case <-ctx.Done():
		gone = context.Cause(ctx)
	case <-timeout.C:
		gone = ErrUnavailable.Because("the store did not answer in time")
	}
	if gone != nil && r.settled.CompareAndSwap(false, true) {
		return nil, gone // write ends the intent, should it be stored after all
	}
	<-r.done
	if r.err != nil {
		<-l.slots
		if f, ok := fault.From(r.err); ok && f.Kind == fault.Unavailable { // such as a full disk, which has a code of its own
			return nil, f
		}
		return nil, ErrUnavailable.Wrap(r.err)
	}
	return &Intent{log: l, seq: r.seq}, nil
}

// ID returns the number of the record.
func (i *Intent) ID() int64 { return i.seq }

// End records the outcome of the act. It does not wait for the store: the outcome is stored soon after, and tried again
// until it is stored or the log is closed. Only the first call counts.
func (i *Intent) End(result Result) {
	i.end.Do(func() { i.log.finish(i.seq, result) })
}

func (l *Log) finish(intent int64, result Result) {
	if !l.enqueue(&request{entry: Entry{Time: l.opts.Now(), Intent: intent, Result: result.bounded()}}) {
		l.lost.Add(1)
		<-l.slots
		l.opts.Logger.Error("audit outcome lost: log is closed", "intent", intent, "outcome", string(result.Outcome))
	}
}

// Record records an act together with its outcome, without waiting for the store. It is for what must not depend on the
// log. It reports whether the entry was taken; when too many are pending, it is not, which is logged and counted.
func (l *Log) Record(act Act, result Result) bool {
	select {
	case l.slots <- struct{}{}:
	default:
		l.lose(act, "too many entries are pending")
		return false
	}
	if !l.enqueue(&request{entry: Entry{Time: l.opts.Now(), Act: act.bounded(), Result: result.bounded()}}) {
		<-l.slots
		l.lose(act, "log is closed")
		return false
	}
	return true
}

// RecordRefused is [Log.Record] for what strangers can cause at will, such as logins with a wrong password: beyond
// Options.RefusedPerMinute such entries are counted, and one entry a minute has their number.
func (l *Log) RecordRefused(act Act, result Result) {
	if l.flood.allow(l.opts.Now()) {
		l.Record(act, result)
	}
}

func (l *Log) lose(act Act, why string) {
	l.lost.Add(1)
	l.opts.Logger.Error("audit entry lost", "reason", why, "action", act.Action, "actor", act.Actor)
}

// Do runs an act between its intent and its outcome. outcome turns the act's error into a result; nil for
// [Succeeded] and [Failed]. If the act panics, the outcome is Unknown.
func (l *Log) Do(ctx context.Context, act Act, do func(context.Context) error, outcome func(error) Result) error {
	intent, err := l.Begin(ctx, act)
	if err != nil {
		return err
	}
	result := Result{Outcome: Unknown, Detail: "panic"}
	defer func() { intent.End(result) }()
	err = do(ctx)
	switch {
	case outcome != nil:
		result = outcome(err)
	case err != nil:
		result = Result{Outcome: Failed, Detail: err.Error()}
	default:
		result = Result{Outcome: Succeeded}
	}
	return err
}

// Stats are the state of a log, and counters since its start.
type Stats struct {
	Failing bool   // whether changes are refused: intents are not admitted, or the last transaction failed in the last 10 s
	Stored  uint64 // entries stored
	Failed  uint64 // failed transactions of the store
	Lost    uint64 // entries and outcomes that were never stored
	Pending int    // acts in progress and events that are not stored yet
}

// failingFor is how long a failed transaction counts. What is pending is tried again sooner; if nothing is, no transaction
// would end the failure.
const failingFor = 10 * time.Second

func (l *Log) refuses() bool {
	if l.admit() != nil {
		return true
	}
	failed := l.failedAt.Load()
	return failed != 0 && l.opts.Now().Sub(time.Unix(0, failed)) < failingFor
}

// admit returns an error while the store takes no intents.
func (l *Log) admit() error {
	if store, ok := l.store.(Admitter); ok {
		return store.Admit()
	}
	return nil
}

// Stats returns the state and the counters.
func (l *Log) Stats() Stats {
	return Stats{Failing: l.refuses(), Stored: l.stored.Load(), Failed: l.failed.Load(), Lost: l.lost.Load(), Pending: len(l.slots)}
}

// Close refuses further entries, stores what is pending, and waits for it as long as ctx lasts. It is safe to call twice.
func (l *Log) Close(ctx context.Context) error {
	l.stop()
	l.recordFlood()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wakeUp.Set()
	defer context.AfterFunc(ctx, l.giveUp)()
	l.wg.Wait()
	l.giveUp()
	if lost := l.lost.Load(); lost > 0 && ctx.Err() != nil {
		return fmt.Errorf("audit: %d entries lost: %w", lost, context.Cause(ctx))
	}
	return nil
}

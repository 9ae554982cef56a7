package alarms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Options are the options of [New]. The zero Options work.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now
	NewID  func() string    // ids of occurrences and events; default: UUIDv7

	// Resolutions stores resolutions. Default: the store, if it is a ResolutionStore; otherwise resolutions are
	// refused with ErrInvalidRequest.
	Resolutions ResolutionStore

	// PollInterval is how often the journal is read for events that other services have stored in the same store.
	// Subscribers receive them too, each event once and in the order of the journal. Events of this service are
	// published immediately. Default 0: no other service uses the store.
	PollInterval time.Duration

	MaxTimeShelved time.Duration // longest time for which an alarm may be shelved; default 24 h (7 days in the whole server)
	MaxPending     int           // calls that may wait to be stored; more calls block; default 1024
	MaxCommitBatch int           // calls that may share a transaction; default 256

	// WriteTimeout is how long the store may take for a transaction, and Close for all of them. A transaction that
	// takes longer is canceled, and its calls return an ErrOutcomeUnknown. Default 30 s.
	WriteTimeout time.Duration

	Limits Limits // for Analytics
}

// Service raises, clears and acknowledges alarms and notifies subscribers. It is safe for concurrent use. Close must be
// called.
type Service struct {
	store          Store
	codes          CodeLister
	journal        EventLister
	statistics     Statistics
	trimmer        Trimmer         // nil: nothing is removed
	resolutions    ResolutionStore // nil: resolutions are refused
	log            *slog.Logger
	now            func() time.Time
	newID          func() string
	maxTimeShelved time.Duration
	maxCommitBatch int
	limits         Limits
	pollInterval   time.Duration

	writeTimeout time.Duration
	writing      context.Context // of transactions; ends with the patience of Close
	giveUp       context.CancelFunc

	queue  chan *call
	closed chan struct{}   // closed by Close
	own    context.Context // ends with Close
	shelf  chan struct{}   // holds a token if a time limit may have been set
	behind chan struct{}   // holds a token if the journal has unpublished events
	cancel context.CancelFunc
	wg     sync.WaitGroup
	callMu sync.RWMutex // held for reading while a call enters the queue
	ended  bool

	times   steadyClock
	shelves map[int64]shelf // by code; used by unshelveDue alone
	hub     hub
	pending pendingAlarms
}

// New starts a service. Before it returns, it ends shelving whose time limit has passed. The store is required.
func New(ctx context.Context, store Store, o Options) (*Service, error) {
	if store == nil {
		return nil, errors.New("alarms: New: store is required")
	}
	for _, rule := range []struct {
		name string
		bad  bool
	}{{"PollInterval", o.PollInterval < 0}, {"MaxTimeShelved", o.MaxTimeShelved < 0}, {"MaxPending", o.MaxPending < 0}, {"MaxCommitBatch", o.MaxCommitBatch < 0},
		{"WriteTimeout", o.WriteTimeout < 0}} {
		if rule.bad {
			return nil, fmt.Errorf("alarms: Options.%s must not be negative", rule.name)
		}
	}
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{
		store: store, resolutions: o.Resolutions, log: o.Logger, now: o.Now, newID: o.NewID,
		maxTimeShelved: cmp.Or(o.MaxTimeShelved, 24*time.Hour), maxCommitBatch: cmp.Or(o.MaxCommitBatch, 256), limits: limits, pollInterval: o.PollInterval,
		queue: make(chan *call, cmp.Or(o.MaxPending, 1024)), closed: make(chan struct{}), shelf: make(chan struct{}, 1),
		behind: make(chan struct{}, 1), writeTimeout: cmp.Or(o.WriteTimeout, 30*time.Second),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.newID == nil {
		s.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	s.codes, s.journal = optional[CodeLister](store, required{store}), optional[EventLister](store, required{store})
	s.statistics, s.trimmer = optional[Statistics](store, required{store}), optional[Trimmer](store, nil)
	if s.resolutions == nil {
		s.resolutions = optional[ResolutionStore](store, nil)
	}
	s.times.now = s.now
	if err := s.times.begin(ctx, store); err != nil {
		return nil, err
	}
	s.hub.changed = make(chan struct{})
	if o.PollInterval > 0 {
		if s.hub.seq, err = endOfJournal(ctx, store); err != nil {
			return nil, err
		}
	}
	s.own, s.cancel = context.WithCancel(context.Background())
	s.writing, s.giveUp = context.WithCancel(context.Background())
	s.wg.Go(s.write)
	next, err := s.unshelveDue(ctx)
	if err != nil {
		_ = s.Close(ctx)
		return nil, err
	}
	s.wg.Go(func() { s.unshelveExpired(s.own, next) })
	if o.PollInterval > 0 {
		s.wg.Go(func() { s.follow(s.own) })
	}
	return s, nil
}

// Close refuses further calls, waits for those that were accepted, until ctx ends or Options.WriteTimeout has
// passed, and ends all subscriptions. Calls that are not stored by then return an ErrOutcomeUnknown. Close does not
// close the store. It may be called twice.
func (s *Service) Close(ctx context.Context) error {
	s.cancel()
	defer context.AfterFunc(ctx, s.giveUp)()
	defer time.AfterFunc(s.writeTimeout, s.giveUp).Stop()
	s.callMu.Lock()
	if !s.ended {
		s.ended = true
		close(s.closed)
		close(s.queue)
	}
	s.callMu.Unlock()
	s.wg.Wait()
	s.giveUp()
	s.hub.end()
	return nil
}

// clock returns the current time as it is stored.
func (s *Service) clock() time.Time {
	at, _ := s.times.look()
	return stamp(at)
}

// stamp returns a time as it is stored: UTC, whole microseconds.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

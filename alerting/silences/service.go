package silences

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/fault"
)

// FullKey is the key of the alarm that no more silences can be made without a token.
const FullKey = "alerting:silences:full"

// The longest members of a silence, in characters.
const (
	MaxSourceType = 128
	MaxPattern    = 512
	MaxReason     = 2000
	MaxCreatedBy  = 128
)

// maxSilences is how many silences are kept, ended ones included.
const maxSilences = 10_000

// DefaultCreatedBy is the creator of a silence that does not name one.
const DefaultCreatedBy = "Admin"

// Options are the options of [Service]. The zero value works.
type Options struct {
	Now   func() time.Time // default time.Now
	NewID func() string    // must return GUIDs; default UUIDv7
	// MaxStaleness is the longest time for which a silence created by another process stays unseen. Default 1 s.
	MaxStaleness time.Duration
	// MaxAnonymousLife is how far ahead a silence created without a token may end. Default 30 days.
	MaxAnonymousLife time.Duration
	// MaxAnonymous is the number of silences created without a token that are kept, ended ones included. Default 500.
	MaxAnonymous int
	// OnFull, if set, is called when there is no room for a silence created without a token.
	OnFull func(ctx context.Context)
	// Lookback is the greatest age of alarms for which [Service.Index] has the silences. Default 25 h.
	Lookback time.Duration
}

// Service keeps silences and finds those that hold for an alarm. Safe for concurrent use.
type Service struct {
	store Store
	opts  Options

	changes atomic.Int64 // made through this Service

	mu     sync.Mutex // held while the store is read, so that one reader reads for all
	index  *Index
	readAt time.Time
}

// New returns a service over a store.
func New(store Store, o Options) (*Service, error) {
	if store == nil {
		return nil, errors.New("silences: a store is required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = canon.NewID
	}
	o.MaxStaleness = cmp.Or(o.MaxStaleness, time.Second)
	o.Lookback = cmp.Or(o.Lookback, 25*time.Hour)
	o.MaxAnonymousLife = cmp.Or(o.MaxAnonymousLife, 30*24*time.Hour)
	o.MaxAnonymous = cmp.Or(o.MaxAnonymous, 500)
	if o.MaxAnonymousLife < 0 || o.MaxAnonymous < 0 {
		return nil, fault.Option("silences", "Options.MaxAnonymous", "and MaxAnonymousLife must be above 0")
	}
	if o.MaxStaleness < 0 {
		return nil, fault.Option("silences", "Options.MaxStaleness", "must be above 0, not %s", o.MaxStaleness)
	}
	if o.Lookback < 0 {
		return nil, fault.Option("silences", "Options.Lookback", "must be above 0, not %s", o.Lookback)
	}
	return &Service{store: store, opts: o}, nil
}

// Create stores a silence and returns it as stored. It sets ID and CreatedAt, and CreatedBy to [DefaultCreatedBy] if that is blank. If a
// member is blank or too long, the start is not before the end, or the end of one created without a token is too far ahead, Create
// returns [ErrInvalid]. If there is no room, it returns [ErrTooMany].
func (s *Service) Create(ctx context.Context, n Silence) (Silence, error) {
	n.SourceType, n.Pattern = strings.TrimSpace(n.SourceType), strings.TrimSpace(n.Pattern)
	n.CreatedBy = cmp.Or(strings.TrimSpace(n.CreatedBy), DefaultCreatedBy)
	n.StartsAt, n.EndsAt = canon.Time(n.StartsAt), canon.Time(n.EndsAt)
	n.ID, n.CreatedAt = s.opts.NewID(), canon.Time(s.opts.Now())
	fields := n.check()
	if len(fields) == 0 && n.Anonymous && n.EndsAt.Sub(n.CreatedAt) > s.opts.MaxAnonymousLife {
		fields = append(fields, fault.Field{Field: "endsAt", Message: fmt.Sprintf(
			"must be at most %s ahead for a silence made without a token (alerting.silenceMaxLife)", s.opts.MaxAnonymousLife)})
	}
	if len(fields) > 0 {
		return Silence{}, ErrInvalid.Invalid(fields...)
	}
	err := s.store.AddSilence(ctx, n, Room{Total: maxSilences, Anonymous: s.opts.MaxAnonymous})
	if errors.Is(err, ErrTooMany) && n.Anonymous && s.opts.OnFull != nil {
		s.opts.OnFull(ctx)
	}
	if err != nil {
		return Silence{}, err
	}
	s.forget()
	return n, nil
}

func (s Silence) check() []fault.Field {
	var fields []fault.Field
	text := func(name, value string, most int) {
		switch {
		case strings.TrimSpace(value) == "":
			fields = append(fields, fault.Field{Field: name, Message: "is required"})
		case utf8.RuneCountInString(value) > most:
			fields = append(fields, fault.Field{Field: name, Message: fmt.Sprintf("must have at most %d characters", most)})
		}
	}
	text("sourceType", s.SourceType, MaxSourceType)
	text("sourceIdPattern", s.Pattern, MaxPattern)
	text("reason", s.Reason, MaxReason)
	text("createdBy", s.CreatedBy, MaxCreatedBy)
	if s.StartsAt.IsZero() {
		fields = append(fields, fault.Field{Field: "startsAt", Message: "is required"})
	}
	if s.EndsAt.IsZero() {
		fields = append(fields, fault.Field{Field: "endsAt", Message: "is required"})
	}
	if !s.StartsAt.IsZero() && !s.EndsAt.IsZero() && !s.StartsAt.Before(s.EndsAt) {
		fields = append(fields, fault.Field{Field: "startsAt", Message: "must be before endsAt"})
	}
	return fields
}

// List returns every silence, ended ones too, the newest first.
func (s *Service) List(ctx context.Context) ([]Silence, error) {
	return s.store.Silences(ctx, time.Time{})
}

// Active returns the silences that hold now, the newest first.
func (s *Service) Active(ctx context.Context) ([]Silence, error) {
	now := s.opts.Now()
	all, err := s.store.Silences(ctx, now)
	if err != nil {
		return nil, err
	}
	active := make([]Silence, 0, len(all))
	for _, one := range all {
		if one.ActiveAt(now) {
			active = append(active, one)
		}
	}
	return active, nil
}

// longSilence is how long a silence may last without being noticed.
const longSilence = 24 * time.Hour

// Summary counts the silences that hold now.
type Summary struct {
	Active    int
	Broad     int // that match every alarm
	Long      int // that last for more than a day
	Anonymous int // that were made without a token
}

// Summary counts the silences that hold now, and reports whether there is room for one more made without a
// token.
func (s *Service) Summary(ctx context.Context) (Summary, bool, error) {
	index, err := s.Index(ctx)
	if err != nil {
		return Summary{}, false, err
	}
	now := s.opts.Now()
	var (
		sum  Summary
		open int
	)
	for i := range index.silences {
		one := &index.silences[i].Silence
		if one.Anonymous && one.EndsAt.After(now) {
			open++
		}
		if !one.ActiveAt(now) {
			continue
		}
		sum.Active++
		for _, c := range []struct {
			count *int
			is    bool
		}{{&sum.Broad, one.Broad()}, {&sum.Long, one.EndsAt.Sub(one.StartsAt) > longSilence}, {&sum.Anonymous, one.Anonymous}} {
			if c.is {
				*c.count++
			}
		}
	}
	return sum, open < s.opts.MaxAnonymous, nil
}

// Change changes SourceType, Pattern, Reason and EndsAt of a silence to those of n, and returns it as stored. An end that has passed ends
// it now. If id is unknown, Change returns [ErrNotFound]; if the silence has ended, [ErrEnded]; if a member is blank or too long, or the
// end is not after the start, [ErrInvalid].
func (s *Service) Change(ctx context.Context, id string, n Silence) (Silence, error) {
	guid, ok := canon.ID(id)
	if !ok {
		return Silence{}, ErrNotFound.On("silenceId", id)
	}
	var changed Silence
	err := s.store.ChangeSilence(ctx, guid, func(kept *Silence) error {
		if !kept.EndsAt.After(s.opts.Now()) {
			return ErrEnded.On("silenceId", guid)
		}
		kept.SourceType, kept.Pattern, kept.Reason = strings.TrimSpace(n.SourceType), strings.TrimSpace(n.Pattern), n.Reason
		kept.EndsAt = canon.Time(n.EndsAt)
		if fields := kept.check(); len(fields) > 0 {
			return ErrInvalid.Invalid(fields...)
		}
		changed = *kept
		return nil
	})
	if err != nil {
		return Silence{}, err
	}
	s.forget()
	return changed, nil
}

// Delete removes a silence. If id is unknown, removed before or not a GUID, Delete returns [ErrNotFound].
func (s *Service) Delete(ctx context.Context, id string) error {
	guid, ok := canon.ID(id)
	if !ok {
		return ErrNotFound.On("silenceId", id)
	}
	if err := s.store.RemoveSilence(ctx, guid); err != nil {
		return err
	}
	s.forget()
	return nil
}

// Version returns a number that grows with each change made through s.
func (s *Service) Version() int64 { return s.changes.Load() }

func (s *Service) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index = nil
	s.changes.Add(1)
}

// Index returns an index of the silences that hold now, will hold, or have ended within Lookback. It has every change made through s,
// and those of others after MaxStaleness.
func (s *Service) Index(ctx context.Context) (*Index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	if age := now.Sub(s.readAt); s.index != nil && age >= 0 && age < s.opts.MaxStaleness {
		return s.index, nil
	}
	all, err := s.store.Silences(ctx, now.Add(-s.opts.Lookback))
	if err != nil {
		return nil, err
	}
	s.index, s.readAt = NewIndex(all), now
	return s.index, nil
}

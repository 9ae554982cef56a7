package alerting

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/otkit/otkit/fault"
)

// The longest members of a silence, in characters.
const (
	MaxSourceType = 128
	MaxPattern    = 512
	MaxReason     = 2000
	MaxCreatedBy  = 128
)

// DefaultCreatedBy is who made a silence that names nobody.
const DefaultCreatedBy = "Admin"

// SilencesOptions are the options of [Silences]. The zero value works.
type SilencesOptions struct {
	Now   func() time.Time // default time.Now
	NewID func() string    // must give GUIDs; default UUIDv7
	// Recheck is the longest time for which a silence made by another process stays unseen.
	// Default 1 s.
	Recheck time.Duration
	// Lookback is how old an alarm may be that [Silences.Index] is asked about. Default 25 h.
	Lookback time.Duration
}

// Silences keeps silences and finds those that hold for an alarm. Safe for concurrent use.
type Silences struct {
	store SilenceStore
	opts  SilencesOptions

	changes atomic.Int64 // of silences, made through this Silences

	mu     sync.Mutex // held while the store is read, so that one reader reads for all
	index  *SilenceIndex
	readAt time.Time
}

// NewSilences makes the service over a store.
func NewSilences(store SilenceStore, o SilencesOptions) (*Silences, error) {
	if store == nil {
		return nil, fmt.Errorf("alerting: silences need a store")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	o.Recheck = cmp.Or(o.Recheck, time.Second)
	o.Lookback = cmp.Or(o.Lookback, 25*time.Hour)
	if o.Recheck < 0 {
		return nil, fmt.Errorf("alerting: SilencesOptions.Recheck must be above 0")
	}
	if o.Lookback < 0 {
		return nil, fmt.Errorf("alerting: SilencesOptions.Lookback must be above 0")
	}
	return &Silences{store: store, opts: o}, nil
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Create stores a silence and gives it as stored. ID and CreatedAt are set here; CreatedBy is
// [DefaultCreatedBy] when blank. A member that is blank, too long or out of order is
// [ErrInvalidSilence].
func (s *Silences) Create(ctx context.Context, n Silence) (Silence, error) {
	n.SourceType, n.Pattern = strings.TrimSpace(n.SourceType), strings.TrimSpace(n.Pattern)
	n.CreatedBy = cmp.Or(strings.TrimSpace(n.CreatedBy), DefaultCreatedBy)
	n.StartsAt, n.EndsAt = stamp(n.StartsAt), stamp(n.EndsAt)
	if fields := n.check(); len(fields) > 0 {
		return Silence{}, ErrInvalidSilence.Invalid(fields...)
	}
	n.ID, n.CreatedAt = s.opts.NewID(), stamp(s.opts.Now())
	if err := s.store.AddSilence(ctx, n); err != nil {
		return Silence{}, err
	}
	s.forget()
	return n, nil
}

// stamp is a time as stores keep it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

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

// List gives every silence, ended ones too, the newest first.
func (s *Silences) List(ctx context.Context) ([]Silence, error) {
	return s.store.Silences(ctx, time.Time{})
}

// Active gives the silences that hold now, the newest first.
func (s *Silences) Active(ctx context.Context) ([]Silence, error) {
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

// Delete removes a silence. An id that is unknown, removed before or no GUID is [ErrSilenceNotFound].
func (s *Silences) Delete(ctx context.Context, id string) error {
	guid, ok := canonicalID(id)
	if !ok {
		return ErrSilenceNotFound.On("silenceId", id)
	}
	if err := s.store.RemoveSilence(ctx, guid); err != nil {
		return err
	}
	s.forget()
	return nil
}

// canonicalID accepts a GUID in its usual form only, in either case.
func canonicalID(id string) (string, bool) {
	u, err := uuid.Parse(id)
	return u.String(), err == nil && len(id) == 36
}

func (s *Silences) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index = nil
	s.changes.Add(1)
}

// Index gives an index over the silences that hold now, will hold, or have ended within Lookback. It
// sees every change made through this Silences, and those of others after Recheck.
func (s *Silences) Index(ctx context.Context) (*SilenceIndex, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	if age := now.Sub(s.readAt); s.index != nil && age >= 0 && age < s.opts.Recheck {
		return s.index, nil
	}
	all, err := s.store.Silences(ctx, now.Add(-s.opts.Lookback))
	if err != nil {
		return nil, err
	}
	s.index, s.readAt = NewSilenceIndex(all), now
	return s.index, nil
}

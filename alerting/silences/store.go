package silences

import (
	"context"
	"strings"
	"time"
)

// Silence holds back notifications about alarms of some sources for a time. Times are kept to the microsecond.
type Silence struct {
	ID         string // GUID
	SourceType string // of the alarm, such as Equipment or Sensor, in any case; "*" for every type
	Pattern    string // of the alarm's source; see [Pattern]
	Reason     string
	CreatedBy  string // as the caller named it
	RecordedBy string // name of the account that added it; empty without a token
	CreatedAt  time.Time
	StartsAt   time.Time
	EndsAt     time.Time
	Anonymous  bool // made without a token
}

// Broad reports whether the silence matches every alarm.
func (s Silence) Broad() bool { return s.SourceType == "*" && strings.Trim(s.Pattern, "*") == "" }

// Room bounds the silences of a store, ended ones included. Zero means no limit.
type Room struct {
	Total     int
	Anonymous int // those made without a token
}

// ActiveAt reports whether the silence holds at a time: from its start on and until just before its end.
func (s Silence) ActiveAt(t time.Time) bool {
	return !t.Before(s.StartsAt) && t.Before(s.EndsAt)
}

// Store keeps silences. Safe for concurrent use. Package alertingtest has a conformance suite.
type Store interface {
	// AddSilence stores a new silence durably. If there is no room for it, AddSilence removes silences that ended before its CreatedAt,
	// those that ended first; if that is not enough, it returns ErrTooMany.
	AddSilence(ctx context.Context, s Silence, room Room) error
	// ChangeSilence changes a silence durably in one transaction: it calls change with the silence as it is stored, and stores what that
	// leaves of SourceType, Pattern, Reason and EndsAt. For an unknown id it returns ErrNotFound, and an error of change as it is; then
	// nothing is stored. change may be called more than once.
	ChangeSilence(ctx context.Context, id string, change func(*Silence) error) error
	// RemoveSilence removes a silence, or returns ErrNotFound. Of several calls for one id a single one succeeds.
	RemoveSilence(ctx context.Context, id string) error
	// Silences returns every silence that ends after the given time, the newest first by CreatedAt and
	// then by ID. The zero time lists all.
	Silences(ctx context.Context, endsAfter time.Time) ([]Silence, error)
}

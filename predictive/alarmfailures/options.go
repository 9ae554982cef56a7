package alarmfailures

import (
	"cmp"
	"context"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
)

const pkg = "alarmfailures"

// Journal is the journal of alarms. An alarms.Service is a Journal.
type Journal interface {
	// Events returns at most limit events with a number above after, ascending.
	Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error)
	// Wait returns when there is an event with a number above after.
	Wait(ctx context.Context, after int64) error
}

// Records takes failures. A predictive.RecordStore is a Records.
type Records interface {
	AddFailures(ctx context.Context, failures []predictive.Failure) error
}

// Positions keeps up to which event of the journal alarms are recorded, over restarts. The first position is 0.
type Positions interface {
	Position(ctx context.Context) (int64, error)
	SetPosition(ctx context.Context, seq int64) error
}

// MemoryPositions is a Positions that forgets when the program ends. The zero value is at 0.
type MemoryPositions struct {
	mu  sync.Mutex
	seq int64
}

// Position implements Positions.
func (m *MemoryPositions) Position(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seq, nil
}

// SetPosition implements Positions.
func (m *MemoryPositions) SetPosition(_ context.Context, seq int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq = seq
	return nil
}

// Deps are what a [Recorder] works with. All are required but Positions.
type Deps struct {
	Journal Journal
	Records Records
	// Equipment returns the equipment of the source of an alarm, such as the driver of a tag, that of an equipment itself, and an empty text for a
	// source that is of none. It is called with the label [EquipmentLabel] of an alarm that has it.
	Equipment func(ctx context.Context, source string) (string, error)
	// Positions defaults to MemoryPositions. The whole journal is then read after each start; what is recorded is not recorded twice.
	Positions Positions
}

// Options configure a [Recorder]. The zero value works.
type Options struct {
	// Keys are patterns of path.Match for the keys of the alarms that are failures, such as rule:trip-*. Default: none, so that only alarms with the
	// label [EquipmentLabel] or [ComponentLabel] are, but for alerts of other systems, whose keys begin with webhook: and which may need no token. A
	// Critical alarm need not be a failure, and its source may be a controller of many machines.
	Keys []string
	// MergeGap is how soon after its end an alarm is raised again that is one failure with it. Default: 1 hour.
	MergeGap time.Duration
	// RetryInterval is how long after a failed call the next is made; it doubles up to a minute. Default: 1 second.
	RetryInterval time.Duration
	// StartDelay lets drivers and their tags come before alarms are looked up by them. Default: none.
	StartDelay time.Duration

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

func (o *Options) complete() error {
	o.MergeGap, o.RetryInterval = cmp.Or(o.MergeGap, time.Hour), cmp.Or(o.RetryInterval, time.Second)
	if o.MergeGap < 0 {
		return fault.Option(pkg, "Options.MergeGap", "must not be negative, not %s", o.MergeGap)
	}
	if o.RetryInterval < 0 {
		return fault.Option(pkg, "Options.RetryInterval", "must not be negative, not %s", o.RetryInterval)
	}
	if o.StartDelay < 0 {
		return fault.Option(pkg, "Options.StartDelay", "must not be negative, not %s", o.StartDelay)
	}
	for _, pattern := range o.Keys {
		if _, err := path.Match(pattern, ""); err != nil {
			return fault.Option(pkg, "Options.Keys", "has %q, which is no pattern", pattern)
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// never are the prefixes of the keys of alarms that are no failures of an equipment: those of packages alarms/driveralarms,
// alarms/bridgealarms, alarms/enginealarms and alarms/predictivealarms. A prediction that is recorded as a failure would confirm itself.
// A plant may have engines of another kind, with alarms such as engine-overheat:genset-1.
var never = []string{"driver-", "bridge-", "engine-lost:", "predictive-"}

// received is the prefix of the keys of alerts of other systems: alerting.ReceivedKeyPrefix.
const received = "webhook:"

// The labels of alarms that tell what has failed.
const (
	EquipmentLabel = "equipmentId" // of the equipment, in place of that of the source
	ComponentLabel = "component"
)

// chosen reports whether an alarm can be a failure.
func (o *Options) chosen(a *alarms.Occurrence) bool {
	if slices.ContainsFunc(never, func(prefix string) bool { return strings.HasPrefix(a.Key, prefix) }) {
		return false
	}
	labeled := a.Labels[EquipmentLabel] != "" || a.Labels[ComponentLabel] != ""
	return labeled && !strings.HasPrefix(a.Key, received) || slices.ContainsFunc(o.Keys, func(pattern string) bool {
		ok, _ := path.Match(pattern, a.Key)
		return ok
	})
}

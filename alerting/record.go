package alerting

import (
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/internal/canon"
)

// RecordKey identifies one occurrence of an alert: what went wrong, and when.
type RecordKey struct {
	Alarm string    // key of the alarm, such as webhook:<fingerprint> or rule:<id>
	At    time.Time // when it was raised, UTC, whole microseconds
}

// Canonical returns k with its time as stores keep it, so that keys of equal times are equal.
func (k RecordKey) Canonical() RecordKey { return RecordKey{Alarm: k.Alarm, At: canon.Time(k.At)} }

// Record is one alert in the history. Times are kept to the microsecond.
type Record struct {
	ID          string // UUIDv7
	Key         RecordKey
	Severity    alarms.Severity
	Source      string
	SourceType  string
	Title       string
	Description string
	Labels      map[string]string // has [LabelSilencedBy] when the alert was silenced
	Annotations map[string]string
	CompletedAt time.Time // when the alert was resolved; zero while it is firing
	// Truncated names the members that were too long and are not whole: labels, annotations, title,
	// description.
	Truncated []string
	// Digest changes with the title, description and annotations. It is empty for a record without an outside
	// alert.
	Digest string
}

// LabelSilencedBy is the label of a silenced alert; its value is the id of the silence.
const LabelSilencedBy = "silencedBy"

// LabelDescription is the label that carries the description of a received alert to the templates.
const LabelDescription = "description"

// ReceivedKeyPrefix begins the keys of alarms that were raised for received alerts.
const ReceivedKeyPrefix = "webhook:"

// IsReceived reports whether key is that of an alarm raised for a received alert. Its receiver writes the record.
func IsReceived(key string) bool { return strings.HasPrefix(key, ReceivedKeyPrefix) }

package alerting

import (
	"time"

	"github.com/otkit/otkit/alarms"
)

// Notification is one message for one channel. It is complete: a channel needs nothing else.
type Notification struct {
	ID      string `json:"id"`      // of the delivery, a GUID; the same each time it is sent, so good as an idempotency key
	EventID string `json:"eventId"` // of the event in the journal; a digest's own
	// AlarmID is the id of the alarm's occurrence, the same in all messages about it. Empty for a digest.
	AlarmID    string            `json:"alarmId,omitempty"`
	Code       int64             `json:"code,omitempty"` // of the alarm's condition, the same each time it comes back; 0 for a digest
	Channel    string            `json:"channel"`
	Recipient  string            `json:"recipient,omitempty"` // one of the channel's recipients; see RecipientLister
	Severity   alarms.Severity   `json:"severity"`
	Source     string            `json:"source,omitempty"`
	SourceType string            `json:"sourceType,omitempty"`
	Message    string            `json:"message"` // the alarm's own text
	Title      string            `json:"title"`   // made by the subject template; one line
	Body       string            `json:"body"`    // made by the body template
	Labels     map[string]string `json:"labels,omitempty"`
	At         time.Time         `json:"at"`               // when the alarm was raised, or when it cleared if Resolved
	Resolved   bool              `json:"resolved"`         // the alarm has cleared
	Digest     int               `json:"digest,omitempty"` // number of messages that this one combines; 0 for an ordinary one
	// Link is where the messages of a digest are listed; empty for an ordinary one. A channel that shortens the body shows it.
	Link string `json:"link,omitempty"`
}

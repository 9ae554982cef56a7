package outbox

import (
	"time"

	"github.com/otkit/otkit/alerting"
)

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery. Silenced, Pending and Sending are temporary, the others are final. A dead letter can be requeued, and with it
// the discarded end of its alarm. Deliveries in a digest can be made pending again until the digest is sent.
const (
	Silenced     DeliveryState = "silenced" // not claimed while a silence applies
	Pending      DeliveryState = "pending"
	Sending      DeliveryState = "sending" // claimed by a dispatcher until LeaseUntil
	Sent         DeliveryState = "sent"
	InDigest     DeliveryState = "folded"  // combined in the digest DigestID
	Discarded    DeliveryState = "dropped" // not needed any more, such as the end of an alarm that nobody was notified of
	DeadLettered DeliveryState = "dead"    // rejected permanently, or not sent before ExpiresAt
)

// Open reports whether s is waiting to be sent.
func (s DeliveryState) Open() bool { return s == Pending || s == Sending }

// Final reports whether s only changes on request.
func (s DeliveryState) Final() bool { return !s.Open() && s != Silenced }

// Delivery is one message to one recipient of a channel, and its state. Times have microseconds.
type Delivery struct {
	ID           string // UUIDv7
	Seq          int64  // of the event in the journal; the order of sending
	EventID      string // unique together with Channel and Recipient
	Occurrence   string // id of the alarm's occurrence; empty for a digest
	Channel      string
	Recipient    string // see alerting.RecipientLister; empty for other channels
	Resolved     bool   // the occurrence has cleared
	NoDeadLetter bool   // about dead letters, so it does not become one
	State        DeliveryState
	Attempts     int  // that ended; those that a crash cut off do not count
	Uncertain    bool // an earlier attempt may have arrived
	NextAttempt  time.Time
	Owner        string    // empty unless Sending
	LeaseUntil   time.Time // zero unless Sending
	LastError    string
	DigestID     string // of the digest that it is combined in
	CreatedAt    time.Time
	ExpiresAt    time.Time
	SettledAt    time.Time // zero until the state is final

	// Unreadable is set if the store cannot read the Notification, which is empty then.
	Unreadable   bool
	Notification alerting.Notification
}

// FailedState returns the state of a delivery that is given up. A message about dead letters does not become one
// itself: two channels that refuse everything would keep each other's alarm active.
func (d *Delivery) FailedState() DeliveryState {
	if d.NoDeadLetter {
		return Discarded
	}
	return DeadLettered
}

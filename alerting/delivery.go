package alerting

import (
	"context"
	"time"
)

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states of a delivery. Silenced, Pending and Sending are passing, the others are final; a dead one
// can be made pending again, and with it the dropped end of its alarm, and so can a folded one while its
// digest is not sent.
const (
	Silenced DeliveryState = "silenced" // not to be sent while a silence holds; nobody claims it
	Pending  DeliveryState = "pending"
	Sending  DeliveryState = "sending" // claimed by a dispatcher until LeaseUntil
	Sent     DeliveryState = "sent"
	Folded   DeliveryState = "folded"  // told by the digest DigestID
	Dropped  DeliveryState = "dropped" // there is nothing to tell any more, or nobody was told that it began, or nobody is to be
	Dead     DeliveryState = "dead"    // refused for good, or not sent until ExpiresAt
)

// Open says whether a delivery in this state is still to be sent.
func (s DeliveryState) Open() bool { return s == Pending || s == Sending }

// Final says whether nothing more happens to a delivery in this state by itself.
func (s DeliveryState) Final() bool { return !s.Open() && s != Silenced }

// Delivery is one message to one recipient of a channel and what became of it. Times are kept to the
// microsecond.
type Delivery struct {
	ID          string // UUIDv7
	Seq         int64  // of the event in the journal; the order of sending
	EventID     string // unique together with Channel and Recipient
	Occurrence  string // id of the alarm's occurrence; empty for a digest
	Channel     string
	Recipient   string // see Addressed; empty for a channel that is none
	Resolved    bool   // tells that the occurrence has cleared
	Own         bool   // tells of an alarm about dead letters, so it becomes none itself
	State       DeliveryState
	Attempts    int  // claims so far, those that were given back not counted
	Uncertain   bool // an earlier attempt may have arrived
	NextAttempt time.Time
	Owner       string    // who has claimed it; empty unless Sending
	LeaseUntil  time.Time // zero unless Sending
	LastError   string
	DigestID    string // of the digest that it is folded into
	CreatedAt   time.Time
	ExpiresAt   time.Time
	SettledAt   time.Time // zero until the state is final

	// Unreadable says that the store cannot read the Notification, which is empty then.
	Unreadable   bool
	Notification Notification
}

// Settlement is what a dispatcher writes down about a delivery that it has claimed. The delivery gets
// these values and loses its owner.
type Settlement struct {
	ID          string
	State       DeliveryState // not Sending
	Attempts    int
	Uncertain   bool
	NextAttempt time.Time
	LastError   string
	DigestID    string
	SettledAt   time.Time
}

// Claim says what a dispatcher wants to send.
type Claim struct {
	Channel    string
	Owner      string
	Now        time.Time
	LeaseUntil time.Time // after this the deliveries are anybody's again
	Limit      int
	Busy       []string // recipients whose deliveries are left alone, also those that the owner has claimed before

	// LatestNext and LatestLease are the latest times that a NextAttempt and a LeaseUntil can
	// have as things are. One after them was written before the clock was set back, and counts as over.
	// The zero time is no such limit.
	LatestNext, LatestLease time.Time
}

// Outbox keeps deliveries until they are sent, and how far the journal of alarms was read. Safe for
// concurrent use, by several processes too. Package alertingtest has a conformance suite.
type Outbox interface {
	// Cursor gives the Seq up to which events were planned; 0 at first.
	Cursor(ctx context.Context) (int64, error)
	// Plan adds deliveries and moves the cursor, all or nothing and durably. When the cursor
	// is not at from it gives ErrCursorMoved and changes nothing. A delivery whose EventID, Channel and
	// Recipient are there already is left out. They are in the state that they say.
	Plan(ctx context.Context, from, to int64, add []Delivery) error
	// Claim gives the deliveries of a channel that are due, the lowest Seq first and then by ID, and
	// makes them Sending with the claim's owner and lease and one more attempt. Due are pending ones
	// whose NextAttempt is not after Now; and Sending ones whose lease has ended by Now or whose owner
	// is the claim's, which become Uncertain; see Claim for times that lie too far ahead. A delivery
	// waits while one of the same occurrence, channel and recipient with a lower Seq is pending or
	// sending. No delivery goes to two claims. One that cannot be read is given as Unreadable and does
	// not keep the others back. It is called often, so finding nothing must be cheap.
	Claim(ctx context.Context, c Claim) ([]Delivery, error)
	// Settle writes down what became of claimed deliveries and adds pending ones, all or nothing and
	// durably. A delivery that the owner does not hold any more is left alone. An added one whose
	// EventID, Channel and Recipient are there already is left out.
	Settle(ctx context.Context, owner string, done []Settlement, add []Delivery) error
	// FirstDeliveries gives the deliveries of the occurrences that are not Resolved, in any order.
	// Only ID, Occurrence, Channel, Recipient and State need be set. The State of one that is Folded is
	// that of its digest while the digest is there.
	FirstDeliveries(ctx context.Context, occurrences []string) ([]Delivery, error)
	// SilencedDeliveries gives deliveries that are Silenced, in ascending order of Occurrence and then
	// ID, at most limit of those that come after the given one; only these two of it matter. Only ID,
	// Seq, Occurrence, Channel, Recipient, State and the Notification's Source and SourceType need be set.
	SilencedDeliveries(ctx context.Context, after Delivery, limit int) ([]Delivery, error)
	// Unsilence makes those of the deliveries that are Silenced Pending, due at now and expiring at
	// expires, or Dropped, settled at now, and gives their number. Of several callers one succeeds.
	Unsilence(ctx context.Context, ids []string, to DeliveryState, now, expires time.Time) (int, error)
	// FoldedDeliveries gives the deliveries that are Folded into a digest, in any order. Only ID,
	// Resolved and the Notification's Source and SourceType need be set.
	FoldedDeliveries(ctx context.Context, digest string) ([]Delivery, error)
	// Unfold makes a digest that the owner holds Dropped, settled at now. Those that are Folded into it
	// become Silenced where their ids are given, the others Pending and due at now. They expire when the
	// digest would have, and are Uncertain if it was. A digest that the owner does not hold any more is
	// left alone with all that it has.
	Unfold(ctx context.Context, owner, digest string, silenced []string, now time.Time) error
	// ExpireOthers gives up what nobody claims: deliveries of channels other than the given ones whose
	// ExpiresAt is not after expired and that are Pending, or Sending with a lease that has ended by now.
	// They become Dead, or Dropped if they are Own, settled at now, with why as the LastError of those that
	// have none. It gives their number by channel.
	ExpireOthers(ctx context.Context, channels []string, now, expired time.Time, why string) (map[string]int, error)
	// TrimDeliveries removes deliveries in a final state, and no others, that were settled before the given
	// time, with two exceptions. One that is Sent, Folded or Dead and not Resolved, and not Own, stays
	// while there is no Resolved one of its occurrence: the alarm may still stand. And those of an occurrence
	// that are not Resolved stay until every Resolved one of it was settled before the given time,
	// since who is told of an end is seen by them; then they go before it. Whatever is in a final state and
	// was settled before standing goes all the same.
	TrimDeliveries(ctx context.Context, before, standing time.Time) error
}

// DeadLetters lets people see and repeat what could not be sent. Safe for concurrent use.
type DeadLetters interface {
	// DeadLetter gives a dead delivery, or ErrDeadLetterNotFound.
	DeadLetter(ctx context.Context, id string) (Delivery, error)
	// DeadLetters gives dead deliveries and their number, of one channel or of all when channel is
	// empty: the highest Seq first and then by ID, descending, limit of them after the first offset.
	DeadLetters(ctx context.Context, channel string, offset, limit int) ([]Delivery, int64, error)
	// ReviveDeadLetters makes dead deliveries pending again, without attempts or error, due at now and
	// expiring at expires, and gives their number: the one with the given id, or, when id is empty,
	// those of the channel, or of every channel when that is empty too. Those that are Dropped, Resolved
	// and of the same occurrence, channel and recipient as one of them, or as one that is folded into one
	// of them, become pending with it; they are not counted.
	ReviveDeadLetters(ctx context.Context, id, channel string, now, expires time.Time) (int, error)
	// DropDeadLetters makes dead deliveries Dropped, settled at now, and gives their number. They are
	// chosen as by ReviveDeadLetters.
	DropDeadLetters(ctx context.Context, id, channel string, now time.Time) (int, error)
	// CountDeadLetters counts the dead deliveries of each channel that has any.
	CountDeadLetters(ctx context.Context) (map[string]DeadCount, error)
}

// DeadCount is what there is to know of the dead letters of a channel.
type DeadCount struct {
	Dead   int
	Newest time.Time // when the last of them was given up; zero if there are none
}

package outbox

import (
	"context"
	"time"
)

// Settlement is what becomes of a claimed delivery. The delivery gets these values and loses its owner.
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

// Claim asks for deliveries to send.
type Claim struct {
	Channel           string
	Owner             string
	Now               time.Time
	LeaseUntil        time.Time // after this anybody may claim the deliveries
	Limit             int       // a store may return fewer, to bound the memory that they take
	ExcludeRecipients []string  // recipients whose deliveries are not claimed, not even those that the owner has claimed before

	// LatestNext and LatestLease are the latest possible NextAttempt and LeaseUntil. A later one was stored before the clock was set
	// back, and counts as over. Zero for no limit.
	LatestNext, LatestLease time.Time
}

// Store keeps deliveries until they are sent, and the position up to which the alarm journal was planned. It must be safe for
// concurrent use, also by several processes. Package alertingtest has a conformance suite.
//
// A store may also implement [DigestSplitter], [DigestReader], [Cleaner], [SentLister], [ClaimReleaser] and [DeadLetters]. A dispatcher checks once, when it is made,
// and works without what is missing.
type Store interface {
	// Cursor returns the Seq up to which events were planned; 0 at first.
	Cursor(ctx context.Context) (int64, error)
	// Plan adds deliveries in the states that they have, and moves the cursor, all or nothing and durably. If the cursor is not at
	// from, it returns ErrCursorMoved and changes nothing. A delivery whose EventID, Channel and Recipient exist is omitted.
	Plan(ctx context.Context, from, to int64, add []Delivery) error
	// Claim returns the deliveries of a channel that are due, ascending by Seq and then by ID, and makes them Sending with the owner
	// and lease of the claim. Due are Pending ones whose NextAttempt is not after Now. Due are also Sending ones whose lease has ended
	// by Now or whose owner is that of the claim; they become Uncertain. A delivery waits while one of the same occurrence, channel
	// and recipient with a lower Seq is Pending or Sending. No delivery is in two claims. One that cannot be read is returned as
	// Unreadable and does not hold back the others. Claim is called often, so finding nothing must be cheap.
	Claim(ctx context.Context, c Claim) ([]Delivery, error)
	// Settle stores what became of claimed deliveries and adds deliveries, all or nothing and durably. A delivery that the owner does
	// not hold any more is skipped. An added one whose EventID, Channel and Recipient exist is omitted.
	Settle(ctx context.Context, owner string, done []Settlement, add []Delivery) error
	// FirstDeliveries returns the deliveries of the occurrences that are not Resolved, in any order. Only ID, Occurrence, Channel,
	// Recipient and State need be set. The State of one that is InDigest is that of its digest while the digest exists.
	FirstDeliveries(ctx context.Context, occurrences []string) ([]Delivery, error)
	// SilencedDeliveries returns deliveries that are Silenced, ascending by Occurrence and then by ID: at most limit of those after
	// the given one, of which only these two fields matter. Only ID, Seq, Occurrence, Channel, Recipient, State and the
	// Notification's Source and SourceType need be set.
	SilencedDeliveries(ctx context.Context, after Delivery, limit int) ([]Delivery, error)
	// ReleaseSilenced makes those of the deliveries that are Silenced Pending, due at now and expiring at expires, or Discarded,
	// settled at now. It returns their number. Of several callers one succeeds.
	ReleaseSilenced(ctx context.Context, ids []string, to DeliveryState, now, expires time.Time) (int, error)
}

// DigestSplitter is an optional interface of a [Store]. With it what exceeds a rate limit is combined in a digest. Without it, there
// are no digests: such messages wait and are sent one by one.
type DigestSplitter interface {
	// DigestDeliveries returns the deliveries that are InDigest with this DigestID, in any order. Only ID, Resolved and the
	// Notification's Source and SourceType need be set.
	DigestDeliveries(ctx context.Context, digest string) ([]Delivery, error)
	// SplitDigest makes a digest that the owner holds Discarded, settled at now. Its deliveries become Silenced if their ids are
	// given; the others become Pending and due at now. They expire when the digest would have, and are Uncertain if it was. If the
	// owner does not hold the digest any more, nothing changes.
	SplitDigest(ctx context.Context, owner, digest string, silenced []string, now time.Time) error
}

// DigestReader is an optional interface of a [Store]. Without it, digests have no link to their messages.
type DigestReader interface {
	// DigestMessages returns the deliveries that are InDigest with this DigestID and their number: ascending by Seq and then by ID, limit
	// of them after the first offset.
	DigestMessages(ctx context.Context, digest string, offset, limit int) ([]Delivery, int64, error)
}

// MaxDigestMessages is the largest page of messages of a digest.
const MaxDigestMessages = 1000

// DigestPage is one page of the messages of a digest.
type DigestPage struct {
	Deliveries []Delivery
	Total      int // of all pages
}

// Cleaner is an optional interface of a [Store]. Without it deliveries stay for ever.
type Cleaner interface {
	// ExpireOrphaned gives up deliveries that no dispatcher claims: those of channels other than the given ones whose ExpiresAt is not after
	// expired and that are Pending, or Sending with a lease that has ended by now. They get their [Delivery.FailedState], are settled
	// at now, and have why as LastError if they have none. It returns their number by channel.
	ExpireOrphaned(ctx context.Context, channels []string, now, expired time.Time, why string) (map[string]int, error)
	// TrimDeliveries removes deliveries in a final state, and no others, that were settled before the given time, with two
	// exceptions. One that is Sent, InDigest or DeadLettered, not Resolved and not NoDeadLetter, stays while there is no Resolved one
	// of its occurrence: the alarm may be active. And those of an occurrence that are not Resolved stay until every Resolved one of
	// it was settled before the given time, because they show who is notified of an end; then they are removed before it. Whatever is
	// in a final state and was settled before active is removed in any case.
	TrimDeliveries(ctx context.Context, before, active time.Time) error
}

// SentLister is an optional interface of a [Store]. With it rate limits survive a restart. Without it each start begins with a full
// burst.
type SentLister interface {
	// SentSince returns when messages of a channel were sent after the given time, at most limit of them, the latest first.
	SentSince(ctx context.Context, channel string, since time.Time, limit int) ([]SentTime, error)
}

// SentTime is the time at which a message was sent to a recipient.
type SentTime struct {
	Recipient string
	At        time.Time
}

// ClaimReleaser is an optional interface of a [Store]. Without it, what a dispatcher has claimed that was killed waits for the end of its lease.
type ClaimReleaser interface {
	// ReleaseClaims ends the leases of the deliveries that are Sending and whose owner is none of alive, and returns their number. Finding nothing
	// must be cheap.
	ReleaseClaims(ctx context.Context, alive []string) (int, error)
}

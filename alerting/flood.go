package alerting

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
)

// bucket is the token bucket of one recipient. It is for one goroutine.
type bucket struct {
	limit  Flood
	tokens float64
	at     time.Time // when tokens was right
}

func newBucket(f Flood, now time.Time) *bucket {
	return &bucket{limit: f, tokens: float64(f.Burst), at: now}
}

func (b *bucket) unlimited() bool { return b.limit.Burst < 0 }

// whole gives the messages that may be sent now. A clock that was set back adds nothing.
func (b *bucket) whole(now time.Time) int {
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens = min(float64(b.limit.Burst), b.tokens+float64(passed)/float64(b.limit.Every))
	}
	b.at = now
	return int(b.tokens)
}

func (b *bucket) take() {
	if !b.unlimited() {
		b.tokens--
	}
}

// next gives the wait until a message may be sent, when none may now.
func (b *bucket) next() time.Duration {
	return time.Duration((1 - b.tokens) * float64(b.limit.Every))
}

// split divides claimed deliveries for a channel that may send n messages: those to send, those to
// fold into one digest, which is the last of the n, and those to give back. The gravest are sent.
// One that may have arrived already is never folded, since the digest would tell it again.
func split(claimed []Delivery, n int) (send, fold, back []Delivery) {
	if len(claimed) <= n {
		return claimed, nil, nil
	}
	for _, d := range claimed {
		if d.Uncertain || d.Notification.Digest > 0 {
			send = append(send, d)
		} else {
			fold = append(fold, d)
		}
	}
	if len(send) >= n {
		return send[:n], nil, append(send[n:len(send):len(send)], fold...)
	}
	slices.SortStableFunc(fold, func(a, b Delivery) int {
		return cmp.Compare(b.Notification.weight(), a.Notification.weight())
	})
	alone := n - 1 - len(send)
	return append(send, fold[:alone]...), fold[alone:], nil
}

// weight is how grave a message is: that an alarm has cleared is no more than an Info.
func (n *Notification) weight() alarms.Severity {
	if n.Resolved {
		return alarms.Info
	}
	return n.Severity
}

// digestLines is the number of messages that a digest names.
const digestLines = 20

// digest makes the notification that stands for folded deliveries, the gravest of which come first.
func digest(folded []Delivery) Notification {
	first := folded[0].Notification
	n := Notification{
		Channel: first.Channel, Recipient: first.Recipient, Severity: first.weight(), At: first.At, Digest: len(folded),
		Message: fmt.Sprintf("%d more alarm messages", len(folded)),
	}
	counts, resolved := make(map[alarms.Severity]int), 0
	var b strings.Builder
	for i, d := range folded {
		if d.Notification.Resolved {
			resolved++
		} else {
			counts[d.Notification.Severity]++
		}
		if d.Notification.At.After(n.At) {
			n.At = d.Notification.At
		}
		if i < digestLines {
			fmt.Fprintf(&b, "%s\n", truncate(200, d.Notification.Title))
		}
	}
	if more := len(folded) - digestLines; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	var parts []string
	for _, s := range slices.Backward(alarms.Severities()) {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	if resolved > 0 {
		parts = append(parts, fmt.Sprintf("%d resolved", resolved))
	}
	n.Title = n.Message + " (" + strings.Join(parts, ", ") + ")"
	n.Body = n.Title + "\n\n" + strings.TrimSpace(b.String())
	return n
}

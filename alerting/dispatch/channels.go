package dispatch

import (
	"errors"
	"slices"

	"github.com/otkit/otkit/alerting"
)

// recipientsOf returns the recipients of c, each once. A channel that does not list any has one without a name.
func recipientsOf(c alerting.Channel) []string {
	a, ok := c.(alerting.RecipientLister)
	if !ok {
		return []string{""}
	}
	var list []string
	for _, r := range a.Recipients() {
		if r != "" && !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// sendsResolved reports whether c notifies of the end of alarms.
func sendsResolved(c alerting.Channel) bool {
	r, ok := c.(alerting.ResolvedSender)
	return !ok || r.SendResolved()
}

// concurrency returns the number of messages that c accepts for one recipient at the same time.
func concurrency(c alerting.Channel) int {
	if l, ok := c.(alerting.Concurrent); ok {
		return min(max(l.Concurrency(), 1), claimBatch)
	}
	return 1
}

// acceptsKey reports whether the peer of c discards duplicates by their key.
func acceptsKey(c alerting.Channel) bool {
	k, ok := c.(alerting.Idempotent)
	return ok && k.AcceptsKey()
}

// classify returns err as an error of a channel. One of another kind is ambiguous.
func classify(err error) *alerting.SendError {
	var s *alerting.SendError
	if errors.As(err, &s) {
		return s
	}
	return &alerting.SendError{Outcome: alerting.OutcomeAmbiguous, Err: err}
}

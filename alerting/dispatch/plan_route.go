package dispatch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
)

// routeEvents is the [planStage] that makes a delivery for each recipient: for new alarms those of the routes, for alarms that end
// those that got the first message.
type routeEvents struct {
	routes  alerting.Routes
	workers map[string]*worker
	newID   func() string
	timeout time.Duration
}

func (s routeEvents) plan(_ context.Context, b *planBatch) error {
	for i := range b.events {
		e := &b.events[i]
		if endsSilenced(e) {
			b.discardSilenced(e)
		}
		switch {
		case e.Kind.Ends():
			s.resolved(b, e)
		case needsMessage(e):
			s.raised(b, e, b.silence[i])
		}
	}
	return nil
}

// discardSilenced discards silenced messages of this batch. [loadFirst] has done so with earlier ones.
func (b *planBatch) discardSilenced(e *alarms.Event) {
	for _, i := range b.planned[e.Occurrence.ID] {
		if d := &b.add[i]; d.State == outbox.Silenced {
			d.State, d.SettledAt = outbox.Discarded, b.now
		}
	}
}

func (s routeEvents) raised(b *planBatch, e *alarms.Event, silence string) {
	state := outbox.Pending
	if silence != "" {
		state = outbox.Silenced
	}
	for _, name := range s.routes[e.Occurrence.Severity] {
		if w := s.workers[name]; w != nil && e.Occurrence.Key != DeadLetterKey(name) {
			s.deliver(b, e, name, w.order, false, state)
		}
	}
}

// resolved notifies those that got the first message, will get it, or would get it if a dead letter were requeued. The delivery waits
// for the first one, and is discarded if that is not sent.
func (s routeEvents) resolved(b *planBatch, e *alarms.Event) {
	firsts := b.first[e.Occurrence.ID]
	for _, i := range b.planned[e.Occurrence.ID] {
		firsts = append(firsts, b.add[i])
	}
	notified := make(map[string][]string) // recipients by channel
	for _, f := range firsts {
		w := s.workers[f.Channel]
		if w == nil || f.State == outbox.Discarded || f.State == outbox.Silenced || !sendsResolved(w.channel) {
			continue
		}
		to := []string{f.Recipient}
		if f.Recipient == "" {
			to = w.order // planned when the recipients of the channel had no deliveries of their own
		}
		for _, r := range to {
			if w.to[r] != nil && !slices.Contains(notified[f.Channel], r) {
				notified[f.Channel] = append(notified[f.Channel], r)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(notified)) {
		s.deliver(b, e, name, notified[name], true, outbox.Pending)
	}
}

// deliver adds one delivery for each recipient.
func (s routeEvents) deliver(b *planBatch, e *alarms.Event, channel string, recipients []string, resolved bool, state outbox.DeliveryState) {
	o := &e.Occurrence
	n := alerting.Notification{
		EventID: e.ID, AlarmID: o.ID, Code: o.Code, Channel: channel, Severity: o.Severity, Source: o.Source, SourceType: o.SourceType,
		Message: o.Message, Labels: o.Labels, At: canon.Time(o.RaisedAt), Resolved: resolved,
	}
	if resolved {
		n.At = canon.Time(o.ClearedAt)
	}
	for _, r := range recipients {
		n.ID, n.Recipient = s.newID(), r
		if !resolved {
			b.planned[o.ID] = append(b.planned[o.ID], len(b.add))
		}
		b.add = append(b.add, outbox.Delivery{
			ID: n.ID, Seq: e.Seq, EventID: e.ID, Occurrence: o.ID, Channel: channel, Recipient: r, Resolved: resolved, State: state,
			NoDeadLetter: strings.HasPrefix(o.Key, deadLetterKeys), NextAttempt: b.now, CreatedAt: b.now, ExpiresAt: b.now.Add(s.timeout),
			Notification: n,
		})
	}
}

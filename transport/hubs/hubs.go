package hubs

import (
	"context"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/transport/alarmsapi"
)

// Hub sends messages to connected clients. A signalr.Hub is one.
type Hub interface {
	// Clients returns the number of connected clients.
	Clients() int
	// Broadcast invokes a method on all clients. It does not wait for them.
	Broadcast(method string, args ...any) error
	// WaitForRoom waits until more can be sent without cutting a client that reads, but not longer than timeout.
	WaitForRoom(ctx context.Context, timeout time.Duration)
}

// Journal delivers what happens to alarms. An [alarms.Service] is one.
type Journal interface {
	// Follow calls handle with events, in order and without gaps, until ctx ends.
	Follow(ctx context.Context, o alarms.SubscribeOptions, handle func([]alarms.Event)) error
}

const (
	burst     = 500                    // messages sent without looking at the clients' queues
	burstWait = 250 * time.Millisecond // longest wait for room in them
)

// sender sends to a hub, at a rate that clients can read. One goroutine at a time may use it.
type sender struct {
	hub  Hub
	sent int // since the last look at the queues
}

// send invokes a method with an argument that is made only for a client.
func (s *sender) send(ctx context.Context, method string, args func() []any) {
	if s.hub.Clients() == 0 {
		return
	}
	if s.sent++; s.sent >= burst {
		s.sent = 0
		s.hub.WaitForRoom(ctx, burstWait)
	}
	_ = s.hub.Broadcast(method, args()...) // every argument here encodes
}

// sendInfo sends an occurrence in the form that REST has for it.
func (s *sender) sendInfo(ctx context.Context, method string, o *alarms.Occurrence) {
	s.send(ctx, method, func() []any { return []any{alarmsapi.Info(o)} })
}

// sendChange sends OnAlarmChanged for what happened to an alarm that operators see.
func (s *sender) sendChange(ctx context.Context, e *alarms.Event) {
	if !e.Annunciate && e.Shown() {
		s.sendInfo(ctx, "OnAlarmChanged", &e.Occurrence)
	}
}

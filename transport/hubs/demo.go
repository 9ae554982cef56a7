package hubs

import (
	"context"
	"errors"

	"github.com/otkit/otkit/alarms"
)

// Demo sends alarms to the demonstration hub: OnAlarmRaised for a new one and OnAlarmChanged for every change, each with the alarm.
// Silences do not apply. Make it with [NewDemo].
type Demo struct {
	journal Journal
	sender  sender
}

// NewDemo returns a Demo that sends to hub.
func NewDemo(hub Hub, journal Journal) (*Demo, error) {
	switch {
	case hub == nil:
		return nil, errors.New("hubs: NewDemo: hub is nil")
	case journal == nil:
		return nil, errors.New("hubs: NewDemo: journal is nil")
	}
	return &Demo{journal: journal, sender: sender{hub: hub}}, nil
}

// Run sends until ctx ends or the journal is closed. It must be called once.
func (d *Demo) Run(ctx context.Context) {
	_ = d.journal.Follow(ctx, alarms.SubscribeOptions{Changes: true}, func(events []alarms.Event) { // it ends with ctx or the service
		for i := range events {
			if events[i].Annunciate {
				d.sender.sendInfo(ctx, "OnAlarmRaised", &events[i].Occurrence)
			} else {
				d.sender.sendChange(ctx, &events[i])
			}
		}
	})
}

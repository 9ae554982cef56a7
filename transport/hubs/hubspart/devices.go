package hubspart

import (
	"cmp"
	"context"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/transport/signalr"
)

// deviceInterval is how soon a new device is announced.
const deviceInterval = 500 * time.Millisecond

// deviceAnnouncer sends new devices to a hub.
type deviceAnnouncer struct {
	service  *devices.Service
	hub      *signalr.Hub
	position uint64 // in the changes of the service
	known    map[string]bool
}

// run sends new devices until ctx ends.
func (a *deviceAnnouncer) run(ctx context.Context) {
	ticker := time.NewTicker(deviceInterval)
	defer ticker.Stop()
	for {
		for _, d := range a.look(ctx) {
			if a.hub.Clients() > 0 {
				_ = a.hub.Broadcast("OnEquipmentRegistered", equipmentRegistered{ // it encodes
					EquipmentID: d.ID, Name: cmp.Or(d.Name, d.ID), RegisteredAt: d.CreatedAt})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look returns the devices that were not there before.
func (a *deviceAnnouncer) look(ctx context.Context) (found []devices.Device) {
	ended, end := context.WithCancel(ctx)
	end() // Changes returns what there is and does not wait
	changed, next, err := a.service.Changes(ended, a.position)
	if err != nil {
		return nil
	}
	a.position = next
	for _, d := range changed {
		if !a.known[d.ID] {
			a.known[d.ID] = true
			found = append(found, d)
		}
	}
	return found
}

package hubspart

import (
	"cmp"
	"context"
	"time"

	"github.com/otkit/otkit/transport/signalr"
)

// Equipment is equipment that another part knows and the hubs announce when it is new.
type Equipment interface {
	// Registered returns all that is there.
	Registered() []Registration
	// IsShell reports whether id is that of the shell of such equipment, which is then not announced as well.
	IsShell(id string) bool
}

// Registration is a piece of equipment.
type Registration struct {
	ID, Name string // the name may be empty
	At       time.Time
}

// isAnnounced reports whether a shell is that of equipment which is announced itself.
func (h *Hubs) isAnnounced(shell string) bool {
	for _, e := range h.opts.Equipment {
		if e.IsShell(shell) {
			return true
		}
	}
	return h.devices != nil && h.devices.IsShell(shell)
}

// equipmentAnnouncer sends new equipment to a hub.
type equipmentAnnouncer struct {
	source Equipment
	hub    *signalr.Hub
	known  map[string]bool
}

// run sends new equipment until ctx ends.
func (a *equipmentAnnouncer) run(ctx context.Context) {
	ticker := time.NewTicker(deviceInterval)
	defer ticker.Stop()
	for {
		for _, r := range a.look() {
			if a.hub.Clients() > 0 {
				_ = a.hub.Broadcast("OnEquipmentRegistered", equipmentRegistered{ // it encodes
					EquipmentID: r.ID, Name: cmp.Or(r.Name, r.ID), RegisteredAt: r.At.UTC()})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look returns the equipment that was not there before.
func (a *equipmentAnnouncer) look() (found []Registration) {
	all := a.source.Registered()
	now := make(map[string]bool, len(all))
	for _, r := range all {
		now[r.ID] = true
		if !a.known[r.ID] {
			found = append(found, r)
		}
	}
	a.known = now
	return found
}

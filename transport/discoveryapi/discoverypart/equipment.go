package discoverypart

import (
	"github.com/otkit/otkit/transport/hubs/hubspart"
)

// Registered implements hubspart.Equipment: a bridge is there while it is bound.
func (d *Discovery) Registered() []hubspart.Registration {
	all := d.service.Bindings()
	list := make([]hubspart.Registration, len(all))
	for i := range all {
		list[i] = hubspart.Registration{ID: all[i].BridgeID, At: all[i].BoundAt}
	}
	return list
}

// IsShell reports whether id is that of the shell of a bound bridge.
func (d *Discovery) IsShell(id string) bool { return d.shells != nil && d.shells.isShell(id) }

package devicespart

import (
	"context"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// joinHouse shows the devices in the other parts of the server. Each may be nil.
func (d *Devices) joinHouse(t *tagspart.Tags, a *alarmspart.Alarms, s *aaspart.AAS) error {
	if a != nil {
		if err := d.raiseAlarms(a); err != nil {
			return err
		}
	}
	withTags := t != nil && !d.opts.WithoutTags
	if withTags {
		if err := d.showTags(t); err != nil {
			return err
		}
	}
	if s != nil && !d.opts.WithoutShells {
		return d.makeShells(s, withTags)
	}
	return nil
}

// followInterval is how soon a new device is known to the other parts.
const followInterval = 500 * time.Millisecond

// follow calls f again and again with the devices that have changed, the first time with all, until ctx ends or the service is closed.
// There may be none.
func follow(ctx context.Context, s *devices.Service, f func([]devices.Device)) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	ended, end := context.WithCancel(ctx)
	end() // Changes returns what there is and does not wait
	for position := uint64(0); ; {
		changed, next, err := s.Changes(ended, position)
		if err == nil {
			position = next
		}
		f(changed)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

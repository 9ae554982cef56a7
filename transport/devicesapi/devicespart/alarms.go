package devicespart

import (
	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
)

// raiseAlarms adds the job that raises alarms about devices.
func (d *Devices) raiseAlarms(a *alarmspart.Alarms) error {
	o := d.opts.Alarms
	if o.Now == nil {
		o.Now = d.opts.Now
	}
	if o.Logger == nil {
		o.Logger = d.opts.Logger
	}
	if c := d.opts.Cluster; c != nil {
		o.Engine, o.Owns = c.Engine(), d.service.Owns
	}
	m, err := devicealarms.New(d.service, a.Service(), o)
	if err == nil {
		d.jobs = append(d.jobs, m.Run)
	}
	return err
}

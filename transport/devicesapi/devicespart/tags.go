package devicespart

import (
	"context"
	"time"

	"github.com/otkit/otkit/devices/devicetags"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// refreshTags is how often tags are read that have not changed, and so how far their time stamps may be behind.
const refreshTags = 10 * time.Second

// showTags adds the job that shows what devices report as tags. The driver comes with the first device.
func (d *Devices) showTags(t *tagspart.Tags) error {
	driver, err := devicetags.New(d.service, devicetags.Options{Now: d.opts.Now, SilentAfter: d.opts.OfflineAfter})
	if err != nil {
		return err
	}
	added, failed := false, ""
	define := func(list []tags.Tag) {
		var err error
		switch {
		case added:
			err = t.SetTags(devicetags.DriverID, list)
		case len(list) > 0:
			err = t.AddDriver(tagspart.Driver{ID: devicetags.DriverID, Driver: driver,
				Options: tags.DriverOptions{Type: "Devices", RefreshInterval: refreshTags, Tags: list}})
			added = err == nil
		}
		switch {
		case err == nil:
			failed = ""
		case err.Error() != failed: // such as a driver of the same id that the settings name
			failed = err.Error()
			d.opts.Logger.Error("failed to show devices as tags", "error", err)
		}
	}
	d.jobs = append(d.jobs, func(ctx context.Context) { _ = driver.Follow(ctx, define) })
	return nil
}

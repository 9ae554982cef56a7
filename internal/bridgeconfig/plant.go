package bridgeconfig

import (
	"context"
	"log/slog"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/simdriver"
)

// plant is the driverconfig.Factory of a Simulation without settings: something to read and something to write.
func plant(s driverconfig.Settings, _ *slog.Logger) (tags.Driver, []tags.Tag, error) {
	d, err := simdriver.New(simdriver.Options{DeviceCount: 1, TagsPerDevice: 8, UpdateInterval: time.Second, Signals: []simdriver.Signal{
		{Name: "setpoint", Type: tags.Float, Access: tags.ReadWrite, Unit: "°C", Description: "Set temperature; can be written",
			Shape: simdriver.Hold, Initial: tags.FloatValue(60), Min: 20, Max: 100},
		{Name: "temperature", Type: tags.Float, Unit: "°C", Description: "Follows the setpoint",
			Shape: simdriver.Follow, Follows: "setpoint", Min: 0, Max: 120, Noise: 0.002},
	}})
	if err != nil {
		return nil, nil, err
	}
	list, err := d.Browse(context.Background())
	for i := range list {
		list[i].Driver, list[i].Name = s.ID, s.TagName(list[i].Name)
	}
	return d, list, err
}

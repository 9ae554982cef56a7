package vda5050

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/eclipse/paho.golang/autopaho"
)

// Stop tells a vehicle to pause and to cancel its order, over a connection of its own: for an engine whose fleet is connected elsewhere, when nothing is heard
// of that. It returns when the broker has the message; what the vehicle does is not known then. o is that of [Connect], without
// Reports and Valid; the ClientID is not used, so that the fleet keeps its connection.
func Stop(ctx context.Context, o Options, deviceID string) error { return stop(ctx, o, deviceID, nil) }

func stop(ctx context.Context, o Options, deviceID string, dial dialer) error {
	o.ClientID, o.Valid = fmt.Sprintf("otkit-stop-%08x", rand.Uint32()), nil
	o, broker, err := o.withDefaults()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(o.Vehicles, func(v Vehicle) bool { return v.DeviceID == deviceID })
	if i < 0 {
		return fmt.Errorf("there is no vehicle %q", deviceID)
	}
	v := &vehicle{Vehicle: o.Vehicles[i]}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &Fleet{opts: o, qos: 1}
	config := clientConfig(o, broker)
	config.AttemptConnection = dial
	if f.conn, err = autopaho.NewConnection(ctx, config); err != nil {
		return err
	}
	if err := f.conn.AwaitConnection(ctx); err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	if err := f.instant(ctx, v, v.stopActions(o.Now())...); err != nil {
		return err
	}
	return f.conn.Disconnect(ctx)
}

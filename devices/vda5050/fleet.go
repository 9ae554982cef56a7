package vda5050

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
)

// Fleet is the vehicles of one broker. It implements [devices.Executor], [devices.Resetter] and [devices.Refresher] for
// them. Safe for concurrent use.
type Fleet struct {
	opts     Options
	vehicles map[string]*vehicle // by device id
	topics   map[string]*vehicle // by manufacturer/serial number
	conn     *autopaho.ConnectionManager
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	ready    chan struct{} // closed when conn is set
	up       atomic.Bool   // there is a connection
	qos      byte          // of messages
}

// Connect connects to a broker. A broker that cannot be reached is tried again and again, which is logged and is no error; its
// vehicles are Offline meanwhile. Close must be called.
func Connect(ctx context.Context, o Options) (*Fleet, error) { return connect(ctx, o, nil) }

// dialer connects to a broker; nil dials its URL.
type dialer func(context.Context, autopaho.ClientConfig, *url.URL) (net.Conn, error)

func connect(ctx context.Context, o Options, dial dialer) (*Fleet, error) {
	o, broker, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Reports == nil {
		return nil, fault.Option("vda5050", "Options.Reports", "is required")
	}
	f := &Fleet{opts: o, vehicles: map[string]*vehicle{}, topics: map[string]*vehicle{}, ready: make(chan struct{})}
	for _, v := range o.Vehicles {
		one := &vehicle{Vehicle: v, changed: make(chan struct{}), stopped: stopLatched(o.Reports, v.DeviceID)}
		f.vehicles[v.DeviceID], f.topics[v.topic()] = one, one
	}
	ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.ctx = ctx
	config := clientConfig(o, broker)
	config.AttemptConnection = dial
	config.OnConnectionUp = func(c *autopaho.ConnectionManager, _ *paho.Connack) {
		o.Logger.Info("connected to the MQTT broker", "broker", broker.Host)
		<-f.ready
		f.up.Store(true)
		f.connected(ctx, c)
	}
	config.OnConnectionDown = func() bool { f.disconnected(); return true } // before the next connection is made
	config.OnPublishReceived = []func(paho.PublishReceived) (bool, error){f.received}
	f.conn, err = autopaho.NewConnection(ctx, config)
	if err != nil {
		f.cancel()
		return nil, err
	}
	close(f.ready)
	return f, nil
}

// clientConfig returns how to connect to a broker.
func clientConfig(o Options, broker *url.URL) autopaho.ClientConfig {
	return autopaho.ClientConfig{
		ServerUrls: []*url.URL{broker}, TlsCfg: o.TLS, KeepAlive: uint16(o.KeepAlive.Seconds()), CleanStartOnInitialConnection: true,
		ConnectUsername: o.Username, ConnectPassword: []byte(o.Password),
		ConnectPacketBuilder: func(c *paho.Connect, _ *url.URL) (*paho.Connect, error) {
			if !o.Valid() { // another engine has the vehicles, perhaps with this client id
				return nil, devices.ErrNotOwner
			}
			c.Properties = &paho.ConnectProperties{MaximumPacketSize: new(uint32(maxMessage))}
			return c, nil
		},
		ReconnectBackoff: autopaho.NewConstantBackoff(2 * time.Second),
		OnConnectError: func(err error) {
			if !errors.Is(err, devices.ErrNotOwner) {
				o.Logger.Warn("failed to reach the MQTT broker; retrying", "broker", broker.Host, "error", err)
			}
		},
		ClientConfig: paho.ClientConfig{ClientID: o.ClientID, PacketTimeout: 10 * time.Second},
	}
}

// stopLatched reports whether an emergency stop is latched for a device, perhaps since before a restart.
func stopLatched(r Reports, deviceID string) bool {
	if g, ok := r.(interface {
		Get(id string) (devices.Device, error)
	}); ok {
		d, err := g.Get(deviceID)
		return err == nil && d.StopLatched
	}
	return false
}

// Close ends the connection. Orders that vehicles carry out go on.
func (f *Fleet) Close(ctx context.Context) error {
	f.cancel()
	select {
	case <-f.conn.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errAway = errors.New("the MQTT broker cannot be reached or does not answer")

// Err returns why no vehicle can be reached: nil while there is a connection to the broker and it has answered the subscriptions.
func (f *Fleet) Err() error {
	if f.up.Load() {
		return nil
	}
	return errAway
}

// maxStateAge is how much older than a position the last state may be: vehicles send one every 30 s at least.
const maxStateAge = 35 * time.Second

func (f *Fleet) topic(v *vehicle, major, name string) string {
	return strings.Join([]string{f.opts.Interface, major, v.Manufacturer, v.SerialNumber, name}, "/")
}

// connected stops the vehicles that are to be stopped, subscribes, asks every vehicle for its state, and repeats the orders in
// progress: a vehicle that has one already discards the repetition.
func (f *Fleet) connected(ctx context.Context, c *autopaho.ConnectionManager) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, v := range f.vehicles {
		if _, stopped := v.pending(); stopped {
			f.log(f.instant(ctx, v, v.stopActions(f.opts.Now())...), v)
		}
	}
	if !f.subscribe(ctx, c, slog.LevelError, majorVersion, map[string]byte{"connection": 1, "state": 0, "visualization": 0, "factsheet": 0}) {
		f.up.Store(false) // nothing is heard of the vehicles until the next connection
		return
	}
	for _, v := range f.vehicles {
		if pending, stopped := v.pending(); pending != nil && !stopped {
			f.log(f.publish(ctx, v, "order", *pending), v)
		}
		f.log(f.instant(ctx, v, action{ActionType: "stateRequest", ActionID: v.unique("state", f.opts.Now())}), v)
	}
	for _, other := range []string{"v1", "v3"} { // so that the operator is told that a vehicle speaks another version
		f.subscribe(ctx, c, slog.LevelDebug, other, map[string]byte{"connection": 0})
	}
}

// maxTopics is how many topics a subscription has: brokers bound the length of a packet.
const maxTopics = 100

// subscribe subscribes to topics of all vehicles, which are given with their quality of service. There are no wildcards, so that other
// vehicles cost nothing. Topics that the broker refuses are logged and the others stand; it reports whether the broker has answered.
func (f *Fleet) subscribe(ctx context.Context, c *autopaho.ConnectionManager, level slog.Level, major string, names map[string]byte) bool {
	var all []paho.SubscribeOptions
	for _, v := range f.vehicles {
		for name, qos := range names {
			all = append(all, paho.SubscribeOptions{Topic: f.topic(v, major, name), QoS: qos})
		}
	}
	for some := range slices.Chunk(all, maxTopics) {
		answer, err := c.Subscribe(ctx, &paho.Subscribe{Subscriptions: some})
		if answer == nil {
			f.opts.Logger.Log(ctx, level, "failed to subscribe to messages of vehicles", "error", err)
			return false
		}
		var refused []string
		for i, code := range answer.Reasons[:min(len(answer.Reasons), len(some))] {
			if code >= 0x80 {
				refused = append(refused, some[i].Topic)
			}
		}
		if len(refused) > 0 {
			f.opts.Logger.Log(ctx, level, "broker refuses subscriptions to messages of vehicles", "topics", refused)
		}
	}
	return true
}

func (f *Fleet) disconnected() {
	f.up.Store(false)
	for id := range f.vehicles {
		f.log(f.opts.Reports.Disconnected(id), f.vehicles[id])
	}
}

func (f *Fleet) log(err error, v *vehicle) {
	expected := errors.Is(err, context.Canceled) || errors.Is(err, devices.ErrClosed) || errors.Is(err, devices.ErrNotOwner) // what arrives while the service ends
	if err != nil && !expected && v.warns(f.opts.Now()) {
		f.opts.Logger.Warn("failed to exchange messages with a vehicle", "device", v.DeviceID, "error", err)
	}
}

// publish sends a message. Its header is filled in.
func (f *Fleet) publish(ctx context.Context, v *vehicle, name string, message any) error {
	h := v.header(name, f.opts.Now())
	switch m := message.(type) {
	case order:
		m.header = h
		message = m
	case instantActions:
		m.header = h
		message = m
	}
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if !f.opts.Valid() {
		return devices.ErrNotOwner
	}
	_, err = f.conn.Publish(ctx, &paho.Publish{Topic: f.topic(v, majorVersion, name), Payload: data, QoS: f.qos})
	return err
}

func (f *Fleet) instant(ctx context.Context, v *vehicle, actions ...action) error {
	for i := range actions {
		actions[i].BlockingType = cmp.Or(actions[i].BlockingType, "NONE")
	}
	return f.publish(ctx, v, "instantActions", instantActions{Actions: actions})
}

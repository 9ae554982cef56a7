package vda5050

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
)

// Vehicle is a vehicle of a fleet.
type Vehicle struct {
	DeviceID     string
	Manufacturer string // as in its topics
	SerialNumber string // as in its topics
}

// Reports takes what vehicles report. devices.Service is one.
type Reports interface {
	Report(deviceID string, t devices.Telemetry) error
	Connected(deviceID string) error
	Disconnected(deviceID string) error
}

// Options are the options of [Connect]. URL, Vehicles and Reports are required.
type Options struct {
	URL       string // of the broker: mqtt://host:1883 or mqtts://host:8883
	Username  string
	Password  string
	ClientID  string      // default otkit-vda5050- and random digits; a broker lets one client of a name in
	TLS       *tls.Config // for mqtts; nil uses the system's authorities
	Interface string      // first level of the topics; default uagv
	Vehicles  []Vehicle
	Reports   Reports
	// Deviation is how far from its target a vehicle may stop, in metres. Default 0.2.
	Deviation float64
	// CancelTimeout is how long a vehicle may take to cancel an order. Default 4 s.
	CancelTimeout time.Duration

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, *url.URL, error) {
	o.ClientID, o.Interface = cmp.Or(o.ClientID, fmt.Sprintf("otkit-vda5050-%08x", rand.Uint32())), cmp.Or(o.Interface, "uagv")
	o.Deviation, o.CancelTimeout = cmp.Or(o.Deviation, 0.2), cmp.Or(o.CancelTimeout, 4*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "mqtt" && u.Scheme != "mqtts" || u.User != nil:
		return o, nil, fault.Option("vda5050", "Options.URL", "must be mqtt://host:port or mqtts://host:port, without a user")
	case o.Reports == nil:
		return o, nil, fault.Option("vda5050", "Options.Reports", "is required")
	case len(o.Vehicles) == 0:
		return o, nil, fault.Option("vda5050", "Options.Vehicles", "are required")
	case strings.ContainsAny(o.Interface, "+#/\x00"):
		return o, nil, fault.Option("vda5050", "Options.Interface", "must be one level of a topic")
	case !(o.Deviation > 0) || o.CancelTimeout < 0:
		return o, nil, fault.Option("vda5050", "Options", "must have Deviation and CancelTimeout above 0")
	}
	return o, u, nil
}

// Fleet is the vehicles of one broker. It implements [devices.Executor] and [devices.Resetter] for them. Safe for concurrent use.
type Fleet struct {
	opts     Options
	vehicles map[string]*vehicle // by device id
	topics   map[string]*vehicle // by manufacturer/serial number
	conn     *autopaho.ConnectionManager
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	ready    chan struct{} // closed when conn is set
}

// Connect connects to a broker. A broker that cannot be reached is tried again and again, which is logged and is no error; its
// vehicles are Offline meanwhile. Close must be called.
func Connect(ctx context.Context, o Options) (*Fleet, error) {
	o, broker, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Fleet{opts: o, vehicles: map[string]*vehicle{}, topics: map[string]*vehicle{}, ready: make(chan struct{})}
	for i, v := range o.Vehicles {
		path, topic := fmt.Sprintf("Options.Vehicles[%d]", i), v.Manufacturer+"/"+v.SerialNumber
		switch {
		case v.DeviceID == "" || f.vehicles[v.DeviceID] != nil:
			return nil, fault.Option("vda5050", path+".DeviceID", "must be there and unique, not %q", v.DeviceID)
		case v.Manufacturer == "" || v.SerialNumber == "" || strings.Count(topic, "/") != 1 || strings.ContainsAny(topic, "+#\x00") || f.topics[topic] != nil:
			return nil, fault.Option("vda5050", path, "must have Manufacturer and SerialNumber as levels of a topic, together unique")
		}
		one := &vehicle{Vehicle: v, changed: make(chan struct{})}
		f.vehicles[v.DeviceID], f.topics[topic] = one, one
	}
	ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.ctx = ctx
	f.conn, err = autopaho.NewConnection(ctx, autopaho.ClientConfig{
		ServerUrls: []*url.URL{broker}, TlsCfg: o.TLS, KeepAlive: 15, CleanStartOnInitialConnection: true,
		ConnectUsername: o.Username, ConnectPassword: []byte(o.Password),
		ReconnectBackoff: autopaho.NewConstantBackoff(2 * time.Second),
		OnConnectError: func(err error) {
			o.Logger.Warn("failed to reach the MQTT broker; retrying", "broker", broker.Host, "error", err)
		},
		OnConnectionUp: func(c *autopaho.ConnectionManager, _ *paho.Connack) {
			o.Logger.Info("connected to the MQTT broker", "broker", broker.Host)
			<-f.ready
			f.connected(ctx, c)
		},
		ClientConfig: paho.ClientConfig{ClientID: o.ClientID, PacketTimeout: 10 * time.Second,
			OnPublishReceived:  []func(paho.PublishReceived) (bool, error){f.received},
			OnServerDisconnect: func(*paho.Disconnect) { f.disconnected() }, OnClientError: func(error) { f.disconnected() }},
	})
	if err != nil {
		f.cancel()
		return nil, err
	}
	close(f.ready)
	return f, nil
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

// maxStateAge is how much older than a position the last state may be: vehicles send one every 30 s at least.
const maxStateAge = 35 * time.Second

func (f *Fleet) topic(v *vehicle, name string) string {
	return strings.Join([]string{f.opts.Interface, majorVersion, v.Manufacturer, v.SerialNumber, name}, "/")
}

// connected subscribes, asks every vehicle for its state, and repeats the orders in progress: a vehicle that has one already
// discards the repetition.
func (f *Fleet) connected(ctx context.Context, c *autopaho.ConnectionManager) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var subscriptions []paho.SubscribeOptions
	for _, v := range f.vehicles {
		for name, qos := range map[string]byte{"connection": 1, "state": 0, "visualization": 0} {
			subscriptions = append(subscriptions, paho.SubscribeOptions{Topic: f.topic(v, name), QoS: qos})
		}
	}
	if _, err := c.Subscribe(ctx, &paho.Subscribe{Subscriptions: subscriptions}); err != nil {
		f.opts.Logger.Error("failed to subscribe to the messages of the vehicles", "error", err)
		return
	}
	for _, v := range f.vehicles {
		pending, stopped := v.pending()
		if stopped {
			f.log(f.instant(ctx, v, f.stopActions(v)...), v)
		} else if pending != nil {
			f.log(f.publish(ctx, v, "order", *pending), v)
		}
		f.log(f.instant(ctx, v, action{ActionType: "stateRequest", ActionID: v.unique("state", f.opts.Now())}), v)
	}
}

func (f *Fleet) disconnected() {
	for id := range f.vehicles {
		f.log(f.opts.Reports.Disconnected(id), f.vehicles[id])
	}
}

func (f *Fleet) log(err error, v *vehicle) {
	if err != nil && !errors.Is(err, context.Canceled) && v.warns(f.opts.Now()) {
		f.opts.Logger.Warn("failed to exchange messages with a vehicle", "device", v.DeviceID, "error", err)
	}
}

// received handles a message of a vehicle. One that cannot be read is logged.
func (f *Fleet) received(p paho.PublishReceived) (bool, error) {
	levels := strings.Split(p.Packet.Topic, "/")
	if len(levels) != 5 {
		return true, nil
	}
	v := f.topics[levels[2]+"/"+levels[3]]
	if v == nil {
		return true, nil
	}
	var err error
	switch levels[4] {
	case "state":
		err = f.state(v, p.Packet.Payload)
	case "visualization":
		err = f.visualization(v, p.Packet.Payload)
	case "connection":
		err = f.connection(v, p.Packet.Payload)
	}
	f.log(err, v)
	return true, nil
}

func (f *Fleet) state(v *vehicle, payload []byte) error {
	var s state
	if err := json.Unmarshal(payload, &s); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if v.update(&s, f.opts.Now()) {
		f.opts.Logger.Warn("vehicle goes on after it was stopped; stopping it again", "device", v.DeviceID)
		f.log(f.instant(f.ctx, v, f.stopActions(v)...), v)
	}
	return f.report(v, s.telemetry())
}

func (f *Fleet) visualization(v *vehicle, payload []byte) error {
	var m visualization
	if err := json.Unmarshal(payload, &m); err != nil {
		return fmt.Errorf("visualization: %w", err)
	}
	last := v.last()
	if last == nil || m.Position == nil || timeOf(m.Timestamp).Sub(timeOf(last.Timestamp)) > maxStateAge {
		return nil // a position alone says nothing about the state
	}
	t := last.telemetry()
	t.Time, t.State = timeOf(m.Timestamp), "" // the state is as before
	t.Pose, t.Velocity = poseOf(m.Position, m.Velocity)
	return f.report(v, t)
}

// report reports what a vehicle says. Figures that cannot be are left out, so that an emergency stop beside them is not lost.
func (f *Fleet) report(v *vehicle, t devices.Telemetry) error {
	err := f.opts.Reports.Report(v.DeviceID, t)
	if errors.Is(err, devices.ErrInvalid) {
		t.Pose, t.Velocity = nil, nil
		return errors.Join(err, f.opts.Reports.Report(v.DeviceID, t))
	}
	return err
}

func (f *Fleet) connection(v *vehicle, payload []byte) error {
	var c connection
	if err := json.Unmarshal(payload, &c); err != nil {
		return fmt.Errorf("connection: %w", err)
	}
	if c.State == "ONLINE" {
		return f.opts.Reports.Connected(v.DeviceID)
	}
	return f.opts.Reports.Disconnected(v.DeviceID)
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
	_, err = f.conn.Publish(ctx, &paho.Publish{Topic: f.topic(v, name), Payload: data})
	return err
}

func (f *Fleet) instant(ctx context.Context, v *vehicle, actions ...action) error {
	for i := range actions {
		actions[i].BlockingType = cmp.Or(actions[i].BlockingType, "NONE")
	}
	return f.publish(ctx, v, "instantActions", instantActions{Actions: actions})
}

package mqttevents

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// Options are the settings of a [Publisher]. URL is required.
type Options struct {
	URL      string // of the broker: mqtt://host:1883 or mqtts://host:8883
	Username string
	Password string
	ClientID string      // default otkit-aas; a broker lets one client of a name in
	TLS      *tls.Config // for mqtts; nil uses the system's authorities
	Topic    string      // that topics begin with; default otkit/aas
	Source   string      // of the CloudEvents; default urn:otkit
	QoS      byte        // 0, 1 or 2; see DefaultQoS
	// Buffer is how many events may wait while the broker is away, 1..1,000,000; default 20,000. Those of
	// one import count as one. When more gather, all that wait are given up with an error in the log.
	Buffer int
	NewID  func() string // of a CloudEvent; required to be unique per Source
	Logger *slog.Logger  // default: discard
}

// DefaultQoS is for those who have no reason to take another: at least once.
const DefaultQoS = 1

func (o Options) withDefaults() (Options, *url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "mqtt" && u.Scheme != "mqtts" || u.User != nil {
		return o, nil, fault.Option("mqttevents", "Options.URL", "must be mqtt://host:port or mqtts://host:port, without a user")
	}
	if o.ClientID == "" {
		o.ClientID = "otkit-aas"
	}
	if o.Topic = strings.TrimSuffix(o.Topic, "/"); o.Topic == "" {
		o.Topic = "otkit/aas"
	}
	if strings.ContainsAny(o.Topic, "+#\x00") {
		return o, nil, fault.Option("mqttevents", "Options.Topic", "must have no wildcard")
	}
	if o.Source == "" {
		o.Source = "urn:otkit"
	}
	if o.QoS > 2 {
		return o, nil, fault.Option("mqttevents", "Options.QoS", "must be 0, 1 or 2")
	}
	if o.NewID == nil {
		return o, nil, fault.Option("mqttevents", "Options.NewID", "is required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, u, nil
}

// Publisher publishes what a service tells. Close must be called.
type Publisher struct {
	o      Options
	svc    *repository.Service
	conn   *autopaho.ConnectionManager
	cancel context.CancelFunc
	done   chan struct{}
}

// Connect connects to the broker and begins to publish every change from now on. A broker that cannot be reached is tried again and
// again; that is logged and is no error.
func Connect(svc *repository.Service, o Options) (*Publisher, error) {
	if svc == nil {
		return nil, errors.New("mqttevents: Connect: the Service is nil")
	}
	o, broker, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	sub, err := svc.Subscribe(repository.SubscribeOptions{Buffer: o.Buffer})
	if err != nil {
		return nil, fmt.Errorf("mqttevents: Options.Buffer: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Publisher{o: o, svc: svc, cancel: cancel, done: make(chan struct{})}
	p.conn, err = autopaho.NewConnection(ctx, autopaho.ClientConfig{
		ServerUrls: []*url.URL{broker}, TlsCfg: o.TLS, KeepAlive: 30, CleanStartOnInitialConnection: true,
		ConnectUsername: o.Username, ConnectPassword: []byte(o.Password),
		ReconnectBackoff: autopaho.NewConstantBackoff(2 * time.Second),
		OnConnectError: func(err error) {
			o.Logger.Warn("the MQTT broker cannot be reached", "broker", broker.Host, "error", err)
		},
		OnConnectionUp: func(*autopaho.ConnectionManager, *paho.Connack) {
			o.Logger.Info("connected to the MQTT broker", "broker", broker.Host)
		},
		ClientConfig: paho.ClientConfig{ClientID: o.ClientID, PacketTimeout: 10 * time.Second},
	})
	if err != nil {
		cancel()
		sub.Close()
		return nil, err
	}
	go p.run(ctx, sub)
	return p, nil
}

// Close stops, and waits for the event that is being published until ctx ends. Events that wait are
// given up.
func (p *Publisher) Close(ctx context.Context) error {
	p.cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-p.conn.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Publisher) run(ctx context.Context, sub *repository.Subscription) {
	defer close(p.done)
	defer func() { sub.Close() }()
	for {
		events, err := sub.Next(ctx, 1)
		switch {
		case errors.Is(err, repository.ErrSlowSubscriber):
			p.o.Logger.Error("too many changes waited for the MQTT broker; they are not published")
			sub.Close()
			next, err := p.svc.Subscribe(repository.SubscribeOptions{Buffer: p.o.Buffer})
			if err != nil {
				return // the service has ended
			}
			sub = next
		case err != nil:
			return // the service or the publisher has ended
		}
		for _, e := range events {
			p.publish(ctx, e)
		}
	}
}

// publish tries until the broker has taken the event or the publisher ends.
func (p *Publisher) publish(ctx context.Context, e repository.Event) {
	body, err := encode(e, p.o.Source, p.o.NewID())
	if err != nil {
		p.o.Logger.Error("a change cannot be published", "error", err)
		return
	}
	message := &paho.Publish{
		QoS: p.o.QoS, Topic: topic(p.o.Topic, e), Payload: body,
		Properties: &paho.PublishProperties{ContentType: contentType},
	}
	for {
		if err := p.conn.AwaitConnection(ctx); err != nil {
			return
		}
		answer, err := p.conn.Publish(ctx, message)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case answer != nil && answer.ReasonCode >= 0x80: // refused for good: asking again brings no other answer
			p.o.Logger.Error("the MQTT broker has refused a change", "topic", message.Topic, "reason", answer.ReasonCode)
			return
		}
		p.o.Logger.Warn("a change was not published; it is tried again", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// topic returns prefix/kind/id/event, the id in base64url so that it can have any character.
func topic(prefix string, e repository.Event) string {
	return prefix + "/" + kindWord(e.Kind) + "/" + base64.RawURLEncoding.EncodeToString([]byte(e.ID)) + "/" + string(e.Type)
}

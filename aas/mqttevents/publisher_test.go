package mqttevents_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/mqttevents"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/realtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker runs Mosquitto on a port of its own.
type broker struct {
	t      *testing.T
	port   int
	config string
	cmd    *exec.Cmd
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	program := realtest.Need(t, "mosquitto", "/usr/sbin/mosquitto")
	b := &broker{t: t, port: realtest.FreePort(t), config: filepath.Join(t.TempDir(), "mosquitto.conf")}
	require.NoError(t, os.WriteFile(b.config, []byte("listener "+strconv.Itoa(b.port)+" 127.0.0.1\nallow_anonymous true\n"), 0o600))
	b.start(program)
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start(program string) {
	b.t.Helper()
	b.cmd = exec.CommandContext(context.Background(), program, "-c", b.config)
	require.NoError(b.t, b.cmd.Start())
	require.Eventually(b.t, func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(b.port))
		if err == nil {
			err = c.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

func (b *broker) stop() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
		b.cmd = nil
	}
}

func (b *broker) url() string { return "mqtt://127.0.0.1:" + strconv.Itoa(b.port) }

type message struct{ topic, contentType, body string }

// listen subscribes to every event.
func (b *broker) listen() <-chan message {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	u, err := url.Parse(b.url())
	require.NoError(b.t, err)
	got, up := make(chan message, 100), make(chan struct{}, 100)
	conn, err := autopaho.NewConnection(ctx, autopaho.ClientConfig{
		ServerUrls: []*url.URL{u}, KeepAlive: 30, ReconnectBackoff: autopaho.NewConstantBackoff(100 * time.Millisecond),
		OnConnectionUp: func(c *autopaho.ConnectionManager, _ *paho.Connack) {
			go func() {
				_, err := c.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "plant/#", QoS: 1}}})
				if err == nil {
					up <- struct{}{}
				}
			}()
		},
		ClientConfig: paho.ClientConfig{ClientID: "listener", OnPublishReceived: []func(paho.PublishReceived) (bool, error){
			func(p paho.PublishReceived) (bool, error) {
				got <- message{p.Packet.Topic, p.Packet.Properties.ContentType, string(p.Packet.Payload)}
				return true, nil
			},
		}},
	})
	require.NoError(b.t, err)
	b.t.Cleanup(func() { cancel(); <-conn.Done() })
	<-up
	return got
}

func service(t *testing.T) *repository.Service {
	t.Helper()
	s, err := repository.New(repository.NewMemory(), repository.Options{Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func publisher(t *testing.T, s *repository.Service, broker string) {
	t.Helper()
	var n atomic.Int64
	p, err := mqttevents.Connect(s, mqttevents.Options{URL: broker, Topic: "plant/aas/", Source: "urn:plant", QoS: mqttevents.DefaultQoS,
		NewID: func() string { return fmt.Sprintf("id-%d", n.Add(1)) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
}

func submodel(id string) *aas.Submodel {
	p := &aas.Property{ValueType: "xs:int", Value: new("1")}
	p.IDShort = "speed"
	m := &aas.Submodel{Elements: []aas.Element{p}}
	m.ID, m.IDShort = id, "Data"
	return m
}

func TestChangesArriveAsCloudEvents(t *testing.T) {
	b := newBroker(t)
	s := service(t)
	got := b.listen()
	publisher(t, s, b.url())
	id := "https://example.com/sm/1#a+b"
	made, err := s.Submodels.Create(t.Context(), submodel(id))
	require.NoError(t, err)
	path, err := aas.ParsePath("speed")
	require.NoError(t, err)
	_, err = s.SetValue(t.Context(), id, path, []byte(`"2"`), repository.Match{})
	require.NoError(t, err)
	require.NoError(t, s.Submodels.Delete(t.Context(), id, repository.Match{}))

	topic := "plant/aas/submodel/" + base64.RawURLEncoding.EncodeToString([]byte(id)) + "/"
	first := <-got
	require.Equal(t, topic+"created", first.topic)
	require.Equal(t, "application/cloudevents+json", first.contentType)
	require.JSONEq(t, fmt.Sprintf(`{"specversion":"1.0","id":"id-1","source":"urn:plant","type":"io.admin-shell.events.v1.created",
		"subject":"https://example.com/sm/1#a+b","time":"2026-01-02T03:04:05Z","datacontenttype":"application/json",
		"data":{"kind":"submodel","id":"https://example.com/sm/1#a+b","version":%d}}`, made.Version), first.body)
	second := <-got
	require.Equal(t, topic+"valueChanged", second.topic)
	var event struct{ Data map[string]any }
	require.NoError(t, json.Unmarshal([]byte(second.body), &event))
	require.Equal(t, map[string]any{"kind": "submodel", "id": id, "idShortPath": "speed", "version": float64(made.Version + 1)}, event.Data)
	require.Equal(t, topic+"deleted", (<-got).topic)
}

func TestBrokerThatComesLate(t *testing.T) {
	b := newBroker(t)
	program := b.cmd.Path
	b.stop()
	s := service(t)
	publisher(t, s, b.url())
	for i := range 20 {
		_, err := s.Submodels.Create(t.Context(), submodel(fmt.Sprintf("urn:%02d", i)))
		require.NoError(t, err)
	}
	b.start(program)
	got := b.listen()
	for i := 20; ; i++ { // those from before may have gone out before the listener was there
		_, err := s.Submodels.Create(t.Context(), submodel(fmt.Sprintf("urn:%02d", i)))
		require.NoError(t, err)
		select {
		case m := <-got:
			require.Contains(t, m.topic, "plant/aas/submodel/")
			return
		case <-time.After(100 * time.Millisecond):
			require.Less(t, i, 400, "nothing arrives")
		}
	}
}

func TestAServiceThatEndsWhileTooMuchWaits(t *testing.T) {
	b := newBroker(t)
	program := b.cmd.Path
	b.stop()
	s := service(t)
	told := make(chan struct{}, 1)
	p, err := mqttevents.Connect(s, mqttevents.Options{URL: b.url(), Buffer: 1, NewID: func() string { return "id" },
		Logger: slog.New(errorsTo(told))})
	require.NoError(t, err)
	for i := range 10 { // one is being published, one waits
		_, err := s.Submodels.Create(t.Context(), submodel(fmt.Sprintf("urn:%d", i)))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close(context.Background()))
	b.start(program)
	<-told
	require.NoError(t, p.Close(t.Context()), "it has ended with the service")
}

// errorsTo is a handler of log lines that tells of errors.
type errorsTo chan struct{}

func (errorsTo) Enabled(_ context.Context, l slog.Level) bool { return l == slog.LevelError }
func (h errorsTo) WithAttrs([]slog.Attr) slog.Handler         { return h }
func (h errorsTo) WithGroup(string) slog.Handler              { return h }
func (h errorsTo) Handle(context.Context, slog.Record) error {
	h <- struct{}{}
	return nil
}

func TestBadOptions(t *testing.T) {
	s := service(t)
	id := func() string { return "1" }
	for want, o := range map[string]mqttevents.Options{
		"Options.URL":    {URL: "http://x", NewID: id},
		"Options.Topic":  {URL: "mqtt://x", Topic: "a/#", NewID: id},
		"Options.QoS":    {URL: "mqtt://x", QoS: 3, NewID: id},
		"Options.NewID":  {URL: "mqtt://x"},
		"Options.Buffer": {URL: "mqtt://x", Buffer: -1, NewID: id},
	} {
		_, err := mqttevents.Connect(s, o)
		require.ErrorContains(t, err, want)
	}
}

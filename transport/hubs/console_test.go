package hubs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/passive"
	"github.com/otkit/otkit/transport/hubs"
	"github.com/otkit/otkit/transport/signalr"
)

// room is an engine with a console hub on a port.
type room struct {
	t      testing.TB
	alarms *alarms.Service
	tags   *tags.Engine
	driver *passive.Driver
	hub    *signalr.Hub
	url    string

	submodels *repository.Service
}

// smallPipes lets little wait between both ends of a connection.
type smallPipes struct{ net.Listener }

func (l smallPipes) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(64 << 10)
	}
	return c, err
}

func newRoom(t testing.TB, store alarms.Store, o alarms.Options) *room {
	t.Helper()
	r := &room{t: t}
	var err error
	r.alarms, err = alarms.New(t.Context(), store, o)
	require.NoError(t, err)
	r.tags, err = tags.New(tags.Options{})
	require.NoError(t, err)
	r.driver, err = passive.New(passive.Options{Tags: []passive.Tag{{Name: "level", Type: "Float"}, {Name: "flow", Type: "Float"}}})
	require.NoError(t, err)
	require.NoError(t, r.tags.AddDriver("tank", r.driver, tags.DriverOptions{Type: passive.TypeName, Tags: []tags.Tag{
		{Name: "tank.level", Address: "level", DataType: tags.Float}, {Name: "tank.flow", Address: "flow", DataType: tags.Float}}}))
	values, err := tagmap.NewSource(r.tags, tagmap.SourceOptions{})
	require.NoError(t, err)
	r.submodels, err = repository.New(repository.NewMemory(), repository.Options{Values: values})
	require.NoError(t, err)
	console, err := hubs.NewConsole(r.tags, r.alarms, hubs.ConsoleOptions{Submodels: r.submodels})
	require.NoError(t, err)
	r.hub, err = signalr.New(signalr.Options{Methods: console.Methods(), MaxMessageBytes: hubs.ConsoleMessageBytes, InvocationRate: 1000})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { console.Run(ctx) })
	server := httptest.NewUnstartedServer(r.hub)
	server.Listener = smallPipes{server.Listener}
	server.Start()
	r.url = server.URL + "/hubs/console"
	t.Cleanup(func() {
		ended, end := context.WithCancel(context.Background())
		end()
		_ = r.hub.Close(ended)
		server.Close()
		cancel()
		running.Wait()
		require.NoError(t, r.tags.Close(context.Background()))
		require.NoError(t, r.alarms.Close(context.Background()))
	})
	return r
}

// client is a connection to a console hub.
type client struct {
	t      testing.TB
	socket *websocket.Conn
	rest   []string
	asked  int
	events []message // received while waiting for answers
}

type message struct {
	Type         int
	Target       string
	InvocationID string
	Error        string
	Result       json.RawMessage
	Arguments    []json.RawMessage
}

func (r *room) dial() *client {
	r.t.Helper()
	socket, _, err := websocket.Dial(r.t.Context(), r.url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err == nil {
				err = c.(*net.TCPConn).SetReadBuffer(64 << 10)
			}
			return c, err
		}}}})
	require.NoError(r.t, err)
	socket.SetReadLimit(-1)
	r.t.Cleanup(func() { _ = socket.CloseNow() })
	c := &client{t: r.t, socket: socket}
	require.NoError(r.t, socket.Write(r.t.Context(), websocket.MessageText, []byte(`{"protocol":"json","version":1}`+"\x1e")))
	_, err = c.read()
	require.NoError(r.t, err)
	return c
}

func (c *client) read() (m message, err error) {
	for len(c.rest) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, data, err := c.socket.Read(ctx)
		cancel()
		if err != nil {
			return m, err
		}
		c.rest = strings.SplitAfter(strings.TrimSuffix(string(data), "\x1e"), "\x1e")
	}
	err = json.Unmarshal([]byte(strings.TrimSuffix(c.rest[0], "\x1e")), &m)
	c.rest = c.rest[1:]
	return m, err
}

// event returns the argument of the next event, or an error when the connection has ended.
func (c *client) event() (m message, err error) {
	if len(c.events) > 0 {
		m, c.events = c.events[0], c.events[1:]
		return m, nil
	}
	for m.Type != 1 && err == nil {
		if m, err = c.read(); m.Type == 7 {
			err = fmt.Errorf("closed: %s", m.Error)
		}
	}
	return m, err
}

// invoke returns the answer to an invocation.
func (c *client) invoke(target string, args ...any) (message, error) {
	c.t.Helper()
	c.asked++
	data, err := json.Marshal(map[string]any{"type": 1, "invocationId": fmt.Sprint(c.asked), "target": target, "arguments": args})
	require.NoError(c.t, err)
	if err := c.socket.Write(c.t.Context(), websocket.MessageText, append(data, 0x1e)); err != nil {
		return message{}, err
	}
	for {
		switch m, err := c.read(); {
		case err != nil || m.Type == 3:
			return m, err
		case m.Type == 1:
			c.events = append(c.events, m)
		}
	}
}

type transitions struct {
	Position string
	Items    []struct {
		Position, Kind, By, Comment string
		Code                        int64
		Until                       *time.Time
		Alarm                       *struct {
			ID, Source string
			IsActive   bool
			Journaled  *bool
		}
	}
}

// follow invokes Alarms and returns the position from which the client follows.
func (c *client) follow(since string) string {
	c.t.Helper()
	m, err := c.invoke("Alarms", since)
	require.NoError(c.t, err)
	require.Empty(c.t, m.Error)
	var answer struct{ Position string }
	require.NoError(c.t, json.Unmarshal(m.Result, &answer))
	return answer.Position
}

func (c *client) transitions() (all transitions, err error) {
	m, err := c.event()
	if err == nil {
		require.Equal(c.t, "alarms", m.Target)
		require.Len(c.t, m.Arguments, 1)
		err = json.Unmarshal(m.Arguments[0], &all)
	}
	return all, err
}

// until returns the kinds and sources of the transitions up to one of a source.
func (c *client) until(source string) (seen []string, last string) {
	c.t.Helper()
	for {
		batch, err := c.transitions()
		require.NoError(c.t, err)
		for _, item := range batch.Items {
			last = item.Position
			seen = append(seen, item.Kind+" "+item.Alarm.Source)
		}
		require.Equal(c.t, batch.Position, last)
		if strings.HasSuffix(seen[len(seen)-1], " "+source) {
			return seen, last
		}
	}
}

func raise(t testing.TB, s *alarms.Service, source string) alarms.Occurrence {
	t.Helper()
	o, err := s.Raise(t.Context(), alarms.Alarm{Key: source, Source: source, Message: source + " is wrong", Severity: alarms.Error})
	require.NoError(t, err)
	return o
}

// A client whose connection is cut again and again, while alarms come, goes and are acknowledged, gets each transition once.
func TestAConsoleMissesNothingWhenItsConnectionIsCut(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	c := r.dial()
	since := c.follow("")
	const rounds = 340
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < rounds && err == nil; i++ {
			key := fmt.Sprint("k", i)
			if _, err = r.alarms.Raise(t.Context(), alarms.Alarm{Key: key, Source: key, Message: "m", Severity: alarms.Error}); err == nil {
				if _, err = r.alarms.Acknowledge(t.Context(), alarms.ByKey(key), "ann", "seen"); err == nil {
					_, err = r.alarms.Clear(t.Context(), alarms.ByKey(key), "", "")
				}
			}
			time.Sleep(time.Millisecond)
		}
		done <- err
	}()
	var got []string
	cuts := 0
	for len(got) < 3*rounds {
		batch, err := c.transitions()
		if err == nil {
			for _, item := range batch.Items {
				got = append(got, item.Position)
			}
			since = batch.Position
		}
		if err != nil || rand.IntN(2) == 0 {
			cuts++
			_ = c.socket.CloseNow()
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // what happens meanwhile is in the journal
			c = r.dial()
			require.Equal(t, since, c.follow(since))
		}
	}
	require.NoError(t, <-done)
	require.NotZero(t, cuts)
	events, err := r.alarms.Events(t.Context(), 0, 10_000)
	require.NoError(t, err)
	require.Len(t, events, 3*rounds)
	require.Len(t, got, 3*rounds)
	for i, e := range events {
		require.True(t, strings.HasPrefix(got[i], fmt.Sprint(e.Seq, "-")), "%s is not %d", got[i], e.Seq)
	}
	t.Logf("%d transitions, %d cuts", len(got), cuts)
}

func TestAConsoleGetsWholeTransitions(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	c := r.dial()
	require.Equal(t, "0", c.follow(""))
	o := raise(t, r.alarms, "pump")
	require.NoError(t, err2(r.alarms.Acknowledge(t.Context(), alarms.ByID(o.ID), "ann", "on my way")))
	require.NoError(t, err2(r.alarms.Shelve(t.Context(), alarms.ByCode(o.Code), time.Hour, "ann", "repair")))
	var items []string
	for len(items) < 3 {
		batch, err := c.transitions()
		require.NoError(t, err)
		for _, i := range batch.Items {
			require.Equal(t, o.Code, i.Code)
			require.Equal(t, o.ID, i.Alarm.ID)
			require.True(t, i.Alarm.IsActive)
			items = append(items, fmt.Sprint(i.Kind, " ", i.By, " ", i.Comment, " ", i.Until != nil))
		}
	}
	require.Equal(t, []string{"raised   false", "acknowledged ann on my way false", "shelved ann repair true"}, items)

	r.alarms.ShowPending(t.Context(), []alarms.PendingSignals{{Key: "early", Signals: []alarms.Signal{{Raise: &alarms.Alarm{
		Key: "early", ID: "01a20440-3a48-77fa-a566-e3a68db203d1", Source: "early", Message: "m", Severity: alarms.Error}}}}})
	batch, err := c.transitions()
	require.NoError(t, err)
	require.Empty(t, batch.Position)
	require.Empty(t, batch.Items[0].Position)
	require.False(t, *batch.Items[0].Alarm.Journaled)
}

func err2[T any](_ T, err error) error { return err }

func TestAPositionThatIsGone(t *testing.T) {
	store := alarms.NewMemory()
	r := newRoom(t, store, alarms.Options{})
	c := r.dial()
	c.follow("")
	raise(t, r.alarms, "a")
	_, first := c.until("a")
	raise(t, r.alarms, "b")
	_, second := c.until("b")
	gone := func(since string) {
		t.Helper()
		m, err := c.invoke("Alarms", since)
		require.NoError(t, err)
		require.Contains(t, m.Error, "POSITION_GONE: ")
	}
	gone("7-abcdef01") // of the future
	gone("1-abcdef01") // of another journal
	for _, bad := range []string{"x", "-1", "9999999999999999999999"} {
		m, err := c.invoke("Alarms", bad)
		require.NoError(t, err)
		require.Contains(t, m.Error, "INVALID_REQUEST: ")
	}
	require.Equal(t, first, c.follow(first))
	seen, _ := c.until("b")
	require.Equal(t, []string{"raised b"}, seen)

	for _, key := range []string{"a", "b"} {
		require.NoError(t, err2(r.alarms.Clear(t.Context(), alarms.ByKey(key), "", "")))
	}
	time.Sleep(2 * time.Millisecond) // the IDs have whole milliseconds
	require.NoError(t, r.alarms.Trim(t.Context(), time.Now()))
	gone(first)
	gone(second)
	var last string
	require.Eventually(t, func() bool {
		last = c.follow("")
		return strings.HasPrefix(last, "4")
	}, time.Minute, time.Millisecond, "what was trimmed is passed over")
	require.Equal(t, last, c.follow(last), "nothing came after it")
	raise(t, r.alarms, "c")
	seen, _ = c.until("c")
	require.Equal(t, []string{"raised c"}, seen)
	require.Equal(t, last, c.follow(last), "it was trimmed itself, but nothing after it")
	seen, _ = c.until("c")
	require.Equal(t, []string{"raised c"}, seen)
}

// A client goes from one engine to another that uses the same database.
func TestAConsoleOfSeveralEngines(t *testing.T) {
	store := alarms.NewMemory()
	one := newRoom(t, store, alarms.Options{PollInterval: 10 * time.Millisecond})
	two := newRoom(t, store, alarms.Options{PollInterval: 10 * time.Millisecond})
	c := one.dial()
	c.follow("")
	raise(t, one.alarms, "a")
	raise(t, two.alarms, "b")
	seen, last := c.until("b")
	require.Equal(t, []string{"raised a", "raised b"}, seen)
	_ = c.socket.CloseNow()
	raise(t, one.alarms, "c")
	d := two.dial()
	d.follow(last)
	raise(t, two.alarms, "d")
	raise(t, one.alarms, "e")
	seen, _ = d.until("e")
	require.Equal(t, []string{"raised c", "raised d", "raised e"}, seen)
}

// A client that does not read for a while gets all when it reads, holds nobody else up, and has a short queue.
func TestAConsoleThatReadsLateGetsAll(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	slow, quick := r.dial(), r.dial()
	slow.follow("")
	quick.follow("")
	const batches, size = 8, 1000
	for b := range batches {
		list := make([]alarms.Alarm, size)
		for i := range list {
			key := fmt.Sprint(b, "-", i)
			list[i] = alarms.Alarm{Key: key, Source: key, Message: strings.Repeat("m", 500), Severity: alarms.Info}
		}
		require.NoError(t, err2(r.alarms.RaiseMany(t.Context(), list)))
	}
	for _, c := range []*client{quick, slow} {
		seen, _ := c.until(fmt.Sprint(batches-1, "-", size-1))
		require.Len(t, seen, batches*size)
	}
	require.Zero(t, r.hub.Stats().Cut)
}

func TestAConsoleThatIsTooFarBehindReadsAnew(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	slow := r.dial()
	since := slow.follow("")
	for b := range 3 {
		list := make([]alarms.Alarm, 10_000)
		for i := range list {
			key := fmt.Sprint(b, "-", i)
			list[i] = alarms.Alarm{Key: key, Source: key, Message: strings.Repeat("m", 1000), Severity: alarms.Info}
		}
		require.NoError(t, err2(r.alarms.RaiseMany(t.Context(), list)))
	}
	m, err := r.dial().invoke("Alarms", since)
	require.NoError(t, err)
	require.Contains(t, m.Error, "POSITION_GONE")
	for err == nil {
		_, err = slow.transitions()
	}
	require.ErrorContains(t, err, "does not go back to the client's position")
}

type tagEvent struct {
	Name      string
	Value     struct{ DoubleValue *float64 }
	Quality   string
	Reason    string `json:"qualityReason"`
	Timestamp time.Time
}

// values returns the next values of tags.
func (c *client) values() (list []tagEvent) {
	c.t.Helper()
	m, err := c.event()
	require.NoError(c.t, err)
	require.Equal(c.t, "tags", m.Target)
	require.NoError(c.t, json.Unmarshal(m.Arguments[0], &list))
	return list
}

func (r *room) push(name string, value float64) {
	r.t.Helper()
	require.NoError(r.t, r.driver.Push(r.t.Context(), []passive.Item{{Name: name, Value: value}}))
}

func TestAConsoleChoosesItsTags(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	c, other := r.dial(), r.dial()
	m, err := c.invoke("Tags", []string{"tank.level", "tank.gone", "tank.flow"}, 50)
	require.NoError(t, err)
	require.JSONEq(t, `{"unknown":["tank.gone"]}`, string(m.Result))
	first := c.values()
	require.Len(t, first, 2)
	require.Equal(t, []string{"tank.level", "Bad"}, []string{first[0].Name, first[0].Quality})
	require.NotEmpty(t, first[0].Reason)

	r.push("level", 1.5)
	got := c.values()
	require.Len(t, got, 1)
	require.Equal(t, []any{"tank.level", 1.5, "Good", ""}, []any{got[0].Name, *got[0].Value.DoubleValue, got[0].Quality, got[0].Reason})
	require.WithinDuration(t, time.Now(), got[0].Timestamp, time.Minute)

	require.NoError(t, err2(c.invoke("Tags", []string{"tank.flow"}, 50))) // replaces
	r.push("level", 2)
	r.push("flow", 3)
	for v := 0.0; v != 3; {
		for _, value := range c.values() {
			require.Equal(t, "tank.flow", value.Name)
			if value.Value.DoubleValue != nil {
				v = *value.Value.DoubleValue
			}
		}
	}
	require.NoError(t, err2(c.invoke("Ping")))
	m, err = c.invoke("Tags", []string{}, 50)
	require.NoError(t, err)
	require.JSONEq(t, `{"unknown":[]}`, string(m.Result))
	for _, bad := range [][]any{{[]string{"tank.flow"}, 49}, {[]string{"tank.flow"}, 3_600_001}, {make([]string, 2001), 50}, {nil, 50}, {"tank.flow", 50}, {[]string{}}} {
		m, err = c.invoke("Tags", bad...)
		require.NoError(t, err)
		require.Contains(t, m.Error, "INVALID_REQUEST: ")
	}
	require.Empty(t, c.events)
	require.Empty(t, other.events)
}

// A client that does not read gets the newest value when it does, and not all that came meanwhile.
func TestASlowConsoleGetsTheNewestValues(t *testing.T) {
	r := newRoom(t, alarms.NewMemory(), alarms.Options{})
	c := r.dial()
	require.NoError(t, err2(c.invoke("Tags", []string{"tank.level", "tank.flow"}, 50)))
	quick := r.dial()
	require.NoError(t, err2(quick.invoke("Tags", []string{"tank.level"}, 50)))
	for i := 1; i <= 20; i++ {
		r.push("level", float64(i))
		time.Sleep(10 * time.Millisecond)
	}
	for v := 0.0; v != 20; {
		for _, value := range quick.values() {
			if value.Value.DoubleValue != nil {
				v = *value.Value.DoubleValue
			}
		}
	}
	n := 0
	for v := 0.0; v != 20; n++ {
		for _, value := range c.values() {
			if value.Name == "tank.level" && value.Value.DoubleValue != nil {
				v = *value.Value.DoubleValue
			}
		}
	}
	require.LessOrEqual(t, n, 8, "at most once in 50 ms")
}

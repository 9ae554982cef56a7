package bridge_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// engine is a scripted engine. What it has stored outlives its links.
type engine struct {
	t testing.TB

	mu       sync.Mutex
	token    string // that it accepts
	key      string
	id       string // in a refusal; default engine-1
	refuse   bool
	released int  // frames
	deaf     bool // does not end a link whose bridge was released
	away     bool // cannot be dialed
	silent   bool // accepts, and sends nothing
	epoch    string
	position map[string]uint64
	stored   []received
	lost     uint64
	live     []link.Sample
	names    map[link.EngineConn][]string // of each session
	manifest *link.Manifest
	hash     string
	hellos   []link.Hello
	written  []link.Written
	browsed  []link.Browsed
	buffered link.Buffer // of the last Pong
	ackAfter time.Duration
	loseAcks bool
	onBatch  func(link.Batch) error
	conn     link.EngineConn // of the newest session
	dials    int
	clock    time.Duration // ahead of the bridge's
	noPings  bool
	stopped  chan struct{} // closed when it continues
	reach    link.Reach    // in its Welcome
}

type received struct {
	number uint64
	epoch  string
	tag    string
	sample link.Sample
	event  *link.Event
	late   bool
}

func newEngine(t testing.TB) *engine {
	return &engine{t: t, key: "key", position: map[string]uint64{}, names: map[link.EngineConn][]string{}}
}

func (e *engine) now() time.Time { return time.Now().Add(e.clock) }

func (e *engine) dial(context.Context, string, []string) (link.BridgeConn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dials++
	if e.away {
		return nil, errors.New("connection refused")
	}
	b, c := link.Pipe()
	go func() { link.CloseEngine(c, e.serve(c)) }()
	return b, nil
}

// whileStopped waits while the process is stopped.
func (e *engine) whileStopped() {
	e.mu.Lock()
	stopped := e.stopped
	e.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

func (e *engine) serve(c link.EngineConn) error {
	e.whileStopped()
	f, err := c.Recv()
	if err != nil {
		return err
	}
	return e.serveHello(c, f.Hello)
}

func (e *engine) serveHello(c link.EngineConn, h *link.Hello) error {
	welcome, err := e.greet(c, h)
	if err != nil {
		return err
	}
	if welcome == nil {
		for {
			if _, err := c.Recv(); err != nil {
				return err
			}
		}
	}
	if err := c.Send(link.FromEngine{Welcome: welcome}); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	if !e.noPings {
		go e.ping(c, stop)
	}
	for {
		f, err := c.Recv()
		if err != nil {
			return err
		}
		e.whileStopped()
		if err := e.take(c, &f); err != nil {
			return err
		}
	}
}

func (e *engine) ping(c link.EngineConn, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(cmp.Or(e.reach.Silence/4, link.PingInterval)):
		}
		e.whileStopped()
		if c.Send(link.FromEngine{Ping: &link.Ping{Time: e.now()}}) != nil {
			return
		}
	}
}

func (e *engine) greet(c link.EngineConn, h *link.Hello) (*link.Welcome, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hellos = append(e.hellos, *h)
	if e.silent {
		return nil, nil
	}
	if e.refuse || h.Key == "" && h.Token != e.token || h.Key != "" && h.Key != e.key {
		return nil, link.Refusal(cmp.Or(e.id, "engine-1"))
	}
	if e.conn != nil {
		link.CloseEngine(e.conn, link.ErrReplaced)
	}
	e.conn, e.epoch = c, h.Epoch
	w := &link.Welcome{EngineID: "engine-1", Position: e.position[h.Epoch], WantManifest: h.ManifestHash != e.hash, Time: e.now(), Reach: e.reach}
	if h.Key == "" {
		w.Key = e.key
	}
	return w, nil
}

func (e *engine) take(c link.EngineConn, f *link.FromBridge) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c != e.conn {
		return link.ErrReplaced
	}
	switch {
	case f.Hello != nil:
		e.hellos = append(e.hellos, *f.Hello)
	case f.Names != nil:
		require.Equal(e.t, len(e.names[c]), int(f.Names.First))
		e.names[c] = append(e.names[c], f.Names.Names...)
	case f.Manifest != nil:
		e.manifest, e.hash = f.Manifest, f.Manifest.Hash()
	case f.Live != nil:
		entries, err := link.Decode(f.Live.Data, nil)
		require.NoError(e.t, err)
		for _, s := range entries {
			require.Less(e.t, int(s.Tag), len(e.names[c]), "a name comes before its index")
			e.live = append(e.live, s.Sample)
		}
	case f.Written != nil:
		e.written = append(e.written, *f.Written)
	case f.Browsed != nil:
		e.browsed = append(e.browsed, *f.Browsed)
	case f.Pong != nil:
		e.buffered = f.Pong.Buffer
	case f.Batch != nil:
		return e.batch(c, f.Batch)
	case f.Released != nil:
		if e.released++; !e.deaf {
			return link.ErrEnded
		}
	}
	return nil
}

func (e *engine) batch(c link.EngineConn, b *link.Batch) error {
	if e.onBatch != nil {
		if err := e.onBatch(*b); err != nil {
			return err
		}
	}
	if wait := e.ackAfter; wait > 0 {
		e.mu.Unlock()
		time.Sleep(wait)
		if e.mu.Lock(); c != e.conn {
			return link.ErrReplaced
		}
	}
	entries, err := link.Decode(b.Data, nil)
	require.NoError(e.t, err)
	require.Len(e.t, entries, b.Count)
	at := e.position[e.epoch]
	if b.First > at+1 {
		e.lost += b.First - at - 1
	}
	for i, s := range entries {
		n := b.First + uint64(i)
		if n <= at {
			continue
		}
		r := received{number: n, epoch: e.epoch, sample: s.Sample, event: s.Event, late: i < b.Late}
		if s.Event == nil {
			require.Less(e.t, int(s.Tag), len(e.names[c]), "a name comes before its index")
			r.tag = e.names[c][s.Tag]
		}
		e.stored = append(e.stored, r)
		e.position[e.epoch] = n
	}
	if e.loseAcks {
		return nil
	}
	e.mu.Unlock()
	defer e.mu.Lock()
	if err := c.Send(link.FromEngine{Ack: &link.Ack{Through: b.Last()}}); err != nil {
		return err
	}
	return nil
}

// send sends a frame on the newest link.
func (e *engine) send(f link.FromEngine) {
	e.mu.Lock()
	c := e.conn
	e.mu.Unlock()
	require.NoError(e.t, c.Send(f))
}

// cut ends the newest link.
func (e *engine) cut(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn != nil {
		link.CloseEngine(e.conn, err)
	}
}

// dialed returns how often the bridge has dialed.
func (e *engine) dialed() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dials
}

// do runs f with the engine's lock.
func (e *engine) do(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// values returns what was stored of a tag, in order. What the device has not set does not count.
func (e *engine) values(tag string) (list []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.stored {
		if r.event == nil && r.tag == tag && r.sample.Quality == tags.Good {
			list = append(list, r.sample.Value.Int())
		}
	}
	return list
}

// requireCount checks that the first tag was delivered as it counted: from 1 to n, each once and in order. Each start of the bridge but the
// first may deliver the present value again.
func (r *rig) requireCount(n int) {
	r.t.Helper()
	list, again := r.engine.values("t0"), 0
	for i, v := range list {
		if again < r.starts-1 && i > 0 && v == list[i-1] {
			again++
			continue
		}
		if v != int64(i+1-again) {
			require.Failf(r.t, "not in order", "the value %d has the place %d of %d", v, i+1-again, len(list))
		}
	}
	require.Len(r.t, list, n+again)
}

// rig is a bridge with its plant, and an engine.
type rig struct {
	t      *testing.T
	o      bridge.Options
	device *device
	engine *engine
	host   *bridge.Host
	starts int
	total  int // the highest value of the first tag
	stop   func()
}

func newRig(t *testing.T, count int, change ...func(*bridge.Options)) *rig {
	t.Helper()
	tagEngine, d := plant(t, count)
	r := &rig{t: t, device: d, engine: newEngine(t)}
	r.o = bridge.Options{ID: "bridge-1", Version: "1", Tags: tagEngine, DriverID: "press", DriverType: "Test", Browser: d,
		Buffer: bridge.NewMemoryBuffer(1_000_000), StateFile: t.TempDir() + "/binding.json", Dial: r.engine.dial}
	for _, f := range change {
		f(&r.o)
	}
	t.Cleanup(func() { r.end() })
	r.start()
	return r
}

// start makes the host, as at the start of a process.
func (r *rig) start() {
	r.t.Helper()
	h, err := bridge.New(r.t.Context(), r.o)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	r.host = h
	r.starts++
	r.stop = func() {
		cancel()
		<-done
		require.NoError(r.t, h.Close(context.Background()))
	}
}

func (r *rig) end() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// bind binds the bridge to the engine.
func (r *rig) bind() link.Manifest {
	r.t.Helper()
	m, err := r.host.Bind(r.t.Context(), link.BindRequest{EngineID: "engine-1", EngineURL: "http://engine:5001"}, "")
	require.NoError(r.t, err)
	r.engine.do(func() { r.engine.token = m.BindingToken })
	return m
}

// count lets the first tag count from one number to another.
func (r *rig) count(from, to int) {
	r.total = to
	for i := from; i <= to; i++ {
		r.device.set("a0", intValue(i))
	}
}

// upTo returns the numbers 1 to n.
func upTo(n int) (list []int64) {
	for i := range n {
		list = append(list, int64(i+1))
	}
	return list
}

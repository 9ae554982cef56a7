package linked

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// store is the durable state of a test: what would be in the engine's database.
type store struct {
	mu        sync.Mutex
	token     string // of the bridge press-1; empty once the key was confirmed
	key       string
	positions map[string]uint64 // by epoch
	journal   []string          // what happened, in order
	manifest  string            // hash
	fail      error             // of every method while it is set
	onOpen    func()            // called when OpenLink has stored the key
	unbound   bool              // the binding is removed after OpenLink
	reach     link.Reach
	lease     *Lease
}

func newStore() *store { return &store{token: "token-1", positions: make(map[string]uint64)} }

func (m *store) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.journal = append(m.journal, fmt.Sprintf(format, args...))
}

func (m *store) noted() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.journal)
}

func (m *store) setFail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *store) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fail
}

func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

func (m *store) OpenLink(_ context.Context, h link.Hello) (Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return Grant{}, m.fail
	}
	g := Grant{EngineID: "engine-1", Position: m.positions[h.Epoch], WantManifest: h.ManifestHash != m.manifest, Reach: m.reach, Lease: m.lease}
	switch {
	case h.BridgeID != "press-1":
		return Grant{}, link.ErrRefused
	case same(h.Token, m.token):
		m.key = "key-1"
		g.Key = m.key
		if m.onOpen != nil {
			m.onOpen()
		}
		return g, nil
	case same(h.Key, m.key):
		return g, nil
	}
	return Grant{}, link.ErrRefused
}

func (m *store) ConfirmKey(_ context.Context, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.token = ""
	}
	return m.fail
}

func (m *store) StorePosition(_ context.Context, _, epoch string, through uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.positions[epoch] = through
	}
	return m.fail
}

func (m *store) UpdateManifest(_ context.Context, _ string, manifest link.Manifest) error {
	m.note("manifest of %d tags", len(manifest.Tags))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.manifest = manifest.Hash()
	return m.fail
}

func (m *store) LinkChanged(_ context.Context, _ string, open bool) error {
	m.note("open %t", open)
	m.mu.Lock()
	defer m.mu.Unlock()
	if open && m.unbound {
		return link.ErrRefused
	}
	return nil
}

func (m *store) Buffered(id string, b link.Buffer) {
	if b != (link.Buffer{}) {
		m.note("%s has %+v", id, b)
	}
}

func (m *store) Released(context.Context, string) error {
	m.note("released")
	return m.failure()
}

func (m *store) Lost(ctx context.Context, id, epoch string, n, through uint64) error {
	if err := m.failure(); err != nil {
		return err
	}
	m.note("lost %d", n)
	return m.StorePosition(ctx, id, epoch, through)
}

func (m *store) Event(_ context.Context, _ string, e link.Event) error {
	if err := m.failure(); err != nil {
		return err
	}
	m.note("event %s", e.Kind)
	return nil
}

// rig is an engine with the bridge press-1, whose tags are a, b and c.
type rig struct {
	t     *testing.T
	store *store
	hub   *Hub
	log   *lockedBuffer
	stop  context.CancelFunc

	settled   atomic.Int64 // calls of Settle
	unsettled error        // of Settle; set before a link is opened
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newRig(t *testing.T, m *store) *rig {
	r := &rig{t: t, store: m, log: &lockedBuffer{}}
	var err error
	r.hub, err = New(m, Options{Logger: slog.New(slog.NewTextHandler(r.log, nil)), Settle: func(context.Context) error {
		r.settled.Add(1)
		return r.unsettled
	}})
	require.NoError(t, err)
	return r
}

// close ends the engine as a crash does, as far as the durable state is concerned.
func (r *rig) close() {
	if r.stop != nil {
		r.stop()
	}
	require.NoError(r.t, r.hub.Close(r.t.Context()))
}

// attach does what the tag engine does with the driver: connect, then subscribe and forward.
func (r *rig) attach(names ...string) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	r.stop = func() {
		cancel()
		<-done
	}
	driver := r.hub.Driver("press-1").(tags.Forwarder)
	points := make([]tags.Point, len(names))
	for i, name := range names {
		points[i] = tags.Point{Address: name}
	}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if driver.(tags.Driver).Connect(ctx) != nil {
				continue
			}
			both, end := context.WithCancel(ctx)
			var wg sync.WaitGroup
			wg.Go(func() {
				defer end()
				_ = driver.Subscribe(both, points, func(i int, v tags.Reading) { r.store.note("live %s=%v", names[i], v.Value) })
			})
			wg.Go(func() {
				defer end()
				_ = driver.Forward(both, points, func(_ context.Context, readings []tags.Forwarded) error {
					if err := r.store.failure(); err != nil {
						return err
					}
					for _, f := range readings {
						late := ""
						if f.Reading.Late {
							late = " late"
						}
						r.store.note("stored %s=%v%s", names[f.Point], f.Reading.Value, late)
					}
					return nil
				})
			})
			wg.Wait()
		}
	}()
}

// peer is a bridge at its end of a link.
type peer struct {
	t     *testing.T
	conn  link.BridgeConn
	ended chan error
}

// dial opens a link.
func (r *rig) dial() *peer {
	bridge, engine := link.Pipe()
	p := &peer{t: r.t, conn: bridge, ended: make(chan error, 1)}
	go func() {
		err := r.hub.Serve(r.t.Context(), engine)
		link.CloseEngine(engine, err)
		p.ended <- err
	}()
	return p
}

// open opens a link with the key and sends the dictionary. It is for bubbles of synctest.
func (r *rig) open() (*peer, *link.Welcome) {
	r.store.mu.Lock()
	r.store.key = "key-1"
	r.store.mu.Unlock()
	p := r.dial()
	w := p.greet(link.Hello{Key: "key-1"})
	p.send(link.FromBridge{Names: &link.Names{Names: []string{"a", "b"}}})
	p.send(link.FromBridge{Names: &link.Names{First: 2, Names: []string{"c"}}})
	synctest.Wait() // the tag engine has subscribed
	return p, w
}

// greet sends a Hello and returns the Welcome.
func (p *peer) greet(h link.Hello) *link.Welcome {
	p.hello(h)
	f, err := p.conn.Recv()
	require.NoError(p.t, err)
	require.NotNil(p.t, f.Welcome)
	return f.Welcome
}

func (p *peer) hello(h link.Hello) {
	h.Protocol, h.BridgeID, h.Epoch = link.Protocol, "press-1", "epoch-1"
	p.send(link.FromBridge{Hello: &h})
}

func (p *peer) send(f link.FromBridge) { require.NoError(p.t, p.conn.Send(f)) }

// recv returns the next frame but pings, which it answers.
func (p *peer) recv() (link.FromEngine, error) {
	for {
		f, err := p.conn.Recv()
		if err != nil || f.Ping == nil {
			return f, err
		}
		if err := p.conn.Send(link.FromBridge{Pong: &link.Pong{Time: f.Ping.Time}}); err != nil && !errors.Is(err, io.EOF) {
			return f, err
		}
	}
}

// acked waits for the acknowledgement of an entry.
func (p *peer) acked(through uint64) {
	p.t.Helper()
	for {
		f, err := p.recv()
		require.NoError(p.t, err)
		require.NotNil(p.t, f.Ack)
		require.LessOrEqual(p.t, f.Ack.Through, through)
		if f.Ack.Through == through {
			return
		}
	}
}

func (p *peer) close() {
	require.NoError(p.t, p.conn.Close())
	require.NoError(p.t, <-p.ended)
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// entries reads a list such as "a=1 b=2 !DriverOffline": samples of the tags a, b and c (and d to z), a second apart, and events.
func entries(list string) (all []link.Entry) {
	for i, word := range strings.Fields(list) {
		at := noon.Add(time.Duration(i) * time.Second)
		if kind, ok := strings.CutPrefix(word, "!"); ok {
			all = append(all, link.Entry{Event: &link.Event{Kind: kind, Time: at}})
			continue
		}
		name, text, _ := strings.Cut(word, "=")
		v, err := tags.ParseValue(tags.Int, text)
		if err != nil {
			panic(err)
		}
		all = append(all, link.Entry{Sample: link.Sample{Tag: uint32(name[0] - 'a'), Time: at, Value: v, Quality: tags.Good}})
	}
	return all
}

func batch(first uint64, list string, late int) link.FromBridge {
	all := entries(list)
	return link.FromBridge{Batch: &link.Batch{Block: link.Block{First: first, Count: len(all), Data: link.Encode(all)}, Late: late}}
}

func liveFrame(list string) link.FromBridge {
	return link.FromBridge{Live: &link.Live{Data: link.Encode(entries(list))}}
}

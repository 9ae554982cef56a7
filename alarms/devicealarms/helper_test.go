package devicealarms_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/devices"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fleet are devices that a test sets. It is a Source.
type fleet struct {
	mu       sync.Mutex
	sequence uint64
	changed  map[string]uint64
	devices  map[string]devices.Device
}

func (f *fleet) Changes(_ context.Context, after uint64) (list []devices.Device, next uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, d := range f.devices {
		if after == 0 || f.changed[id] > after {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b devices.Device) int { return cmp.Compare(a.ID, b.ID) })
	if len(list) == 0 && after > 0 {
		return nil, after, context.Canceled
	}
	return list, max(f.sequence, 1), nil
}

// set changes a device, which is new if it is not there.
func (f *fleet) set(id string, change func(*devices.Device)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.devices == nil {
		f.devices, f.changed = map[string]devices.Device{}, map[string]uint64{}
	}
	d, ok := f.devices[id]
	if !ok {
		d = devices.Device{ID: id, State: devices.Offline, CreatedAt: time.Now(), LastSeen: time.Now()}
	}
	change(&d)
	f.sequence++
	f.devices[id], f.changed[id] = d, f.sequence
}

// report lets a device report.
func (f *fleet) report(id string, t devices.Telemetry) {
	f.set(id, func(d *devices.Device) {
		t.State = cmp.Or(t.State, devices.Idle)
		d.Telemetry, d.LastSeen, d.State = &t, time.Now(), t.State
		d.StopLatched = d.StopLatched || t.Stop != devices.NoStop
	})
}

func (f *fleet) state(id string, s devices.State) {
	f.set(id, func(d *devices.Device) { d.State = s })
}

func (f *fleet) remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.devices, id)
}

// hall is a fleet with its alarms. It is for use within a bubble.
type hall struct {
	t *testing.T
	fleet
	store   *flaky
	service *alarms.Service
	log     bytes.Buffer
	end     func()
}

func newHall(t *testing.T, o devicealarms.Options) *hall {
	store := &flaky{Memory: alarms.NewMemory()}
	h := newHallOn(t, store, o)
	h.store = store
	return h
}

func newHallOn(t *testing.T, store alarms.Store, o devicealarms.Options) *hall {
	h := &hall{t: t}
	var err error
	h.service, err = alarms.New(t.Context(), store, alarms.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.service.Close(context.Background())) })
	h.report("agv-1", devices.Telemetry{})
	h.start(o)
	return h
}

func (h *hall) start(o devicealarms.Options) {
	h.t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(&h.log, nil))
	m, err := devicealarms.New(h, h.service, o)
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	h.end = func() {
		cancel()
		<-done
	}
	pass(time.Millisecond) // looks come a moment before the whole seconds that tests wait for
}

// restart ends the monitor and starts another one.
func (h *hall) restart(o devicealarms.Options) {
	h.end()
	h.start(o)
}

// journal returns what has happened to the alarms, as "Raised device-fault:agv-1".
func (h *hall) journal() []string {
	h.t.Helper()
	events, err := h.service.Events(h.t.Context(), 0, 10_000)
	require.NoError(h.t, err)
	var list []string
	for _, e := range events {
		list = append(list, strings.TrimSpace(string(e.Kind)+" "+e.Occurrence.Key+" "+e.Comment))
	}
	return list
}

// active returns the messages of the active alarms, also of those that are not stored.
func (h *hall) active() (messages []string) {
	h.t.Helper()
	page, err := h.service.List(h.t.Context(), alarms.ListQuery{Page: 1, PageSize: 100})
	require.NoError(h.t, err)
	for _, o := range page.Occurrences {
		if o.Active {
			messages = append(messages, o.Message)
		}
	}
	slices.Sort(messages)
	return messages
}

// flaky is a store whose writes fail while it is told so.
type flaky struct {
	*alarms.Memory
	broken atomic.Bool
}

var errDisk = errors.New("disk is full")

func (f *flaky) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if f.broken.Load() {
		return errDisk
	}
	return f.Memory.Write(ctx, refs, change)
}

// doubtful is a store that is lost at a commit, so that nobody knows what has become of it.
type doubtful struct {
	*alarms.Memory
	dead, stores atomic.Bool
	commits      atomic.Int64 // until it is lost; none if negative
}

func (s *doubtful) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if s.dead.Load() {
		return errDisk
	}
	lost := false
	err := s.Memory.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		changes, err := change(next, found)
		if err == nil && s.commits.Add(-1) == 0 {
			s.dead.Store(true)
			if lost = true; !s.stores.Load() {
				err = errDisk
			}
		}
		return changes, err
	})
	if lost {
		return errDisk
	}
	return err
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

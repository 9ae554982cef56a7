package drivers_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
)

// plc is a device with an address: it takes no write until it is let.
type plc struct {
	mu   sync.Mutex
	got  []tags.Value
	busy chan struct{} // has a token when a write has come
	let  chan struct{} // closed: writes are taken
}

// plcDriver speaks to one device.
type plcDriver struct{ of *plc }

func (plcDriver) Connect(context.Context) error { return nil }
func (plcDriver) Close() error                  { return nil }
func (plcDriver) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	for i := range points {
		out[i] = tags.Reading{Value: tags.IntValue(0), Quality: tags.Good}
	}
	return nil
}

func (plcDriver) MaxBatch() int { return 1 }

func (d plcDriver) Write(ctx context.Context, items []tags.WriteItem, _ []error) error {
	select {
	case d.of.busy <- struct{}{}:
	default:
	}
	select {
	case <-d.of.let:
	case <-ctx.Done():
		return tags.ErrUncertain
	}
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	for _, w := range items {
		d.of.got = append(d.of.got, w.Value)
	}
	return nil
}

// What was queued for one device never reaches the one at the new address of its driver, whether the old one answers or not.
func TestQueuedWritesNeverReachAnotherDevice(t *testing.T) {
	for name, stuck := range map[string]bool{"the old device is slow": false, "the old device does not answer": true} {
		t.Run(name, func(t *testing.T) {
			plcs := map[string]*plc{}
			for _, at := range []string{"10.0.0.1", "10.0.0.2"} {
				plcs[at] = &plc{busy: make(chan struct{}, 1), let: make(chan struct{})}
			}
			old, moved := plcs["10.0.0.1"], plcs["10.0.0.2"]
			close(moved.let)
			types := driverconfig.Types{{Name: "PLC", New: func(in driverconfig.Settings, _ *slog.Logger) (tags.Driver, []tags.Tag, error) {
				known := []tags.Tag{{Name: in.TagName("x"), Driver: in.ID, Address: "x", DataType: tags.Int, Access: tags.ReadWrite}}
				return plcDriver{plcs[in.IPAddress]}, known, nil
			}, Schema: func() json.RawMessage { return json.RawMessage(`{}`) }}}
			r := start(t, nil, func(d *drivers.Deps, o *drivers.Options) { d.Types, o.StopTimeout = types, patience })
			if stuck {
				r = start(t, nil, func(d *drivers.Deps, o *drivers.Options) { d.Types, o.StopTimeout = types, 50*time.Millisecond })
			}
			made, err := r.Create(t.Context(), drivers.Definition{ID: "a", Type: "PLC", Enabled: true, IPAddress: "10.0.0.1", PollInterval: time.Millisecond})
			require.NoError(t, err)
			r.good(t, "a.x")
			const queued = 5
			var writes []tags.Write
			for i := range queued {
				w, err := r.engine.Write(t.Context(), tags.WriteRequest{Tag: "a.x", Value: tags.IntValue(int64(i + 1))})
				require.NoError(t, err)
				writes = append(writes, w)
			}
			<-old.busy
			def := made.Definition
			def.IPAddress = "10.0.0.2"
			changed := make(chan error, 1)
			go func() {
				_, err := r.Update(context.Background(), def, nil)
				changed <- err
			}()
			if !stuck {
				close(old.let)
			}
			require.NoError(t, <-changed)
			r.good(t, "a.x")
			done := 0
			for _, w := range writes {
				require.Eventually(t, func() bool {
					now, err := r.engine.GetWrite(t.Context(), w.ID)
					return err == nil && now.State != tags.WriteQueued
				}, patience, time.Millisecond)
				if now, err := r.engine.GetWrite(t.Context(), w.ID); err == nil && now.State == tags.WriteDone {
					done++
				}
			}
			last, err := r.engine.Write(t.Context(), tags.WriteRequest{Tag: "a.x", Value: tags.IntValue(99)})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				moved.mu.Lock()
				defer moved.mu.Unlock()
				return len(moved.got) > 0
			}, patience, time.Millisecond, last.ID)
			moved.mu.Lock()
			require.Equal(t, []tags.Value{tags.IntValue(99)}, moved.got)
			moved.mu.Unlock()
			old.mu.Lock()
			require.Len(t, old.got, done, "what is told as written was written, to the old device")
			old.mu.Unlock()
			if stuck {
				require.Zero(t, done)
			}
		})
	}
}

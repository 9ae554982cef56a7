package devicetags_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// link is how an engine follows the one that has the devices.
type link struct {
	devices.Owner
	to  *devices.Service // nil: nobody has them
	cut atomic.Bool
}

func (l *link) Changes(ctx context.Context, after devices.Position, limit int) ([]devices.Device, devices.Position, error) {
	if l.cut.Load() || l.to == nil {
		return nil, after, devices.ErrUnanswered
	}
	return l.to.Owner().Changes(ctx, after, limit)
}

// The tags may be read on another engine than the one that has the devices.
func TestTagsOfDevicesThatAnotherEngineHas(t *testing.T) {
	run(t, func(t *testing.T) {
		store := devices.NewMemory()
		share := func(l *link) *devices.Service {
			s, err := devices.New(t.Context(), store, devices.Options{Safety: nobody{}, Shared: &devices.Shared{Owner: l}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
			return s
		}
		owner := share(&link{})
		own := func(s *devices.Service, epoch uint64) func() {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx, epoch, func() bool { return true }, func() error { return nil }) }()
			return func() { cancel(); require.NoError(t, <-ended) }
		}
		leave := own(owner, 1)
		l := &link{to: owner}
		other := share(l)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go other.Follow(ctx)
		pass(time.Second)
		_, err := owner.Create(t.Context(), "agv-1", "Robot", "")
		require.NoError(t, err)
		require.NoError(t, owner.Report("agv-1", full()))
		p := newPlantOf(t, other)
		require.Equal(t, map[string]string{"state": "Error", "emergencyStop": "true", "faults": "a; b", "loads": "pallet", "map": "hall", "x": "1.5", "y": "-2",
			"theta": "0.5", "speed": "5", "battery": "55.5", "charging": "true"}, p.all("agv-1"))
		l.cut.Store(true)
		pass(3 * time.Second)
		require.Equal(t, "Bad NotConnected", p.all("agv-1")["x"])
		require.Equal(t, "Unknown", p.all("agv-1")["state"])
		l.cut.Store(false)
		pass(time.Second)
		require.Equal(t, "1.5", p.all("agv-1")["x"])

		leave()
		leave = own(other, 2)
		defer leave()
		pass(time.Second)
		require.Equal(t, "Bad NotConnected", p.all("agv-1")["x"], "it has not reported to this engine")
		report := full()
		report.Pose.X = 2.5
		require.NoError(t, other.Report("agv-1", report))
		pass(time.Second)
		require.Equal(t, "2.5", p.all("agv-1")["x"])
	})
}

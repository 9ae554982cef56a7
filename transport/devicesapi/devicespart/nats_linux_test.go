package devicespart_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/natsbus"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/internal/natstest"
)

// A NATS that hangs and goes on delivers a command whose sender was told that nobody had answered. It is not carried out; the next one is. Two things see to
// that: the engines give up a connection that answers no pings, with what it holds, and the owner knows how old a request is.
func TestACommandThatANATSHoldsUpIsNotCarriedOut(t *testing.T) {
	nats := natstest.Start(t)
	p := newPlant(t)
	p.wait = time.Sleep
	p.join = func() bus.Bus {
		b, err := natsbus.Connect(t.Context(), natsbus.Options{URLs: []string{nats.URL()}})
		require.NoError(t, err)
		return b
	}
	a := p.engine("a", "agv")
	defer a.stop()
	b := p.engine("b")
	defer b.stop()
	heard := func() bool {
		d, err := b.service.Get("agv")
		return err == nil && d.State == devices.Idle && !d.Unheard
	}
	require.Eventually(t, heard, time.Minute, 10*time.Millisecond)

	nats.Freeze()
	_, err := b.move(t.Context(), "c-1", "agv", 20)
	require.Error(t, err)
	time.Sleep(time.Second)
	nats.Thaw()
	require.Eventually(t, func() bool {
		_, err := b.move(t.Context(), "c-2", "agv", 20)
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	time.Sleep(time.Second)
	require.Equal(t, []string{"a c-2"}, p.taken())
}

//go:build unix

package vda5050_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/vda5050"
)

func TestBrokerThatIsSilent(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	p := newPlant(t, b, ownVehicle, func(o *vda5050.Options) { o.KeepAlive = 2 * time.Second })
	b.vehicle()
	p.survivesSilenceOf(b.cmd.Process)
}

func TestVehicleThatIsSilent(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	p := newPlant(t, b, ownVehicle)
	p.survivesSilenceOf(b.vehicle().Process)
}

func (p *plant) survivesSilenceOf(process *os.Process) {
	p.t.Helper()
	p.is(devices.Idle)
	require.NoError(p.t, process.Signal(syscall.SIGSTOP))
	p.is(devices.Offline)
	_, err := p.submit(p.t.Context(), devices.MoveTo, to(6, 6))
	require.ErrorIs(p.t, err, devices.ErrRefused)
	require.NoError(p.t, process.Signal(syscall.SIGCONT))
	p.is(devices.Idle)
	require.True(p.t, p.do(devices.MoveTo, to(6, 6)).Result.Success)
}

//go:build unix

package vda5050_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func TestBrokerAndVehicleThatAreSilent(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	p := newPlant(t, b)
	v := b.vehicle()
	for _, process := range []*os.Process{b.cmd.Process, v.Process} {
		p.is(devices.Idle)
		require.NoError(t, process.Signal(syscall.SIGSTOP))
		p.is(devices.Offline)
		_, err := p.submit(t.Context(), devices.MoveTo, to(6, 6))
		require.ErrorIs(t, err, devices.ErrRefused)
		require.NoError(t, process.Signal(syscall.SIGCONT))
	}
	p.is(devices.Idle)
	require.True(t, p.do(devices.MoveTo, to(6, 6)).Result.Success)
}

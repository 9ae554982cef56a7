//go:build unix

package remote_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/remote"
)

// TestStoppedServer stops a server and lets it go on, and ends it.
func TestStoppedServer(t *testing.T) {
	url, process := startPython(t)
	model := newModel(t, remote.Options{URL: url, Token: "T0ken", Timeout: 200 * time.Millisecond, Pause: time.Millisecond, Failures: 1})
	s, set := newPlant(t, model)
	set(2090)
	ask := func() error {
		_, err := s.FailurePrediction(t.Context(), "pump", "pump.vibration")
		if err != nil {
			require.ErrorIs(t, err, predictive.ErrModelNotAvailable)
		}
		return err
	}
	works := func() bool { return ask() == nil }
	require.Eventually(t, works, time.Minute, 10*time.Millisecond)
	require.NoError(t, process.Signal(syscall.SIGSTOP))
	require.ErrorContains(t, ask(), "did not answer in time")
	require.NoError(t, process.Signal(syscall.SIGCONT))
	require.Eventually(t, works, time.Minute, 10*time.Millisecond)
	require.NoError(t, process.Kill())
	require.Eventually(t, func() bool { return errors.Is(ask(), syscall.ECONNREFUSED) }, time.Minute, 10*time.Millisecond)
}

package registry_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/predictivetest"
	"github.com/otkit/otkit/predictive/registry"
)

func open(t testing.TB, o registry.Options) *registry.Registry {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := registry.Open(o)
	require.NoError(t, err)
	return r
}

func TestRegistry(t *testing.T) {
	predictivetest.TestRegistry(t, func(t testing.TB) predictive.Registry {
		return open(t, registry.Options{Dir: t.TempDir(), Keep: 20})
	})
}

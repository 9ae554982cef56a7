package engineconfig_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/metrics"
)

func TestDiscoverySettings(t *testing.T) {
	for _, c := range []struct {
		text    string
		seconds int
	}{
		{"{}", 30},
		{"server: {profile: edge}", 60},
		{"server: {profile: edge}\ndiscovery: {heartbeatSeconds: 30}", 30},
		{"discovery: {heartbeatSeconds: 5}", 5},
	} {
		file := filepath.Join(t.TempDir(), "engine.yaml")
		require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
		e, p, _, err := engineconfig.Read(file, nil, nil)
		require.NoError(t, err)
		require.NoError(t, p.Err())
		require.Equal(t, c.seconds, e.Discovery.HeartbeatSeconds, c.text)
		o := e.Build(p, "1", slog.New(slog.DiscardHandler), metrics.New(metrics.Options{})).Options.Discovery
		require.Equal(t, time.Duration(c.seconds)*time.Second, o.Heartbeat)
		require.NotNil(t, o.Scanner)
		require.NotNil(t, o.Advertise)
	}
}

func TestBadDiscoverySettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engine.yaml")
	bad := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(bad, []byte("no certificate"), 0o600))
	require.NoError(t, os.WriteFile(file, []byte("discovery: {engineUrl: 'http://a/b', heartbeatSeconds: 0, mdns: false, caFile: "+bad+"}"), 0o600))
	e, p, _, err := engineconfig.Read(file, nil, make(settings.Origins))
	require.NoError(t, err)
	o := e.Build(p, "1", slog.New(slog.DiscardHandler), metrics.New(metrics.Options{})).Options.Discovery
	require.Nil(t, o.Scanner)
	require.Nil(t, o.Advertise)
	for _, want := range []string{"discovery.engineUrl must be like https://engine.example.com:5001", "discovery.heartbeatSeconds must be 1 to 3600", "discovery.caFile has no certificate"} {
		require.ErrorContains(t, p.Err(), want)
	}
}

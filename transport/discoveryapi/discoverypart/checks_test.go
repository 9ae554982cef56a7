package discoverypart

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/transport/health"
)

func bridgesOf(online, down string) (all []discovery.Info) {
	for _, id := range online {
		all = append(all, discovery.Info{Binding: discovery.Binding{BridgeID: string(id)}, Online: true, LinkOpen: true})
	}
	for _, id := range down {
		all = append(all, discovery.Info{Binding: discovery.Binding{BridgeID: string(id)}, Down: true})
	}
	return all
}

func TestTheCheckNamesBridgesThatAreOffline(t *testing.T) {
	for _, c := range []struct {
		online, down string
		status       health.Status
		want         string
	}{
		{"", "", health.Healthy, "0 bridges are bound, 0 online"},
		{"a", "", health.Healthy, "1 bridge is bound, 1 online"},
		{"ab", "c", health.Degraded, "3 bridges are bound, 2 online; no samples from c"},
		{"", "abcde", health.Degraded, "5 bridges are bound, 0 online; no samples from a, b, c and 2 more"},
	} {
		r := checkBridges(bridgesOf(c.online, c.down))
		require.Equal(t, c.status, r.Status, c.want)
		require.Equal(t, c.want, r.Description)
	}
}

func TestTheLagOfABridge(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	at := now.Add(-90 * time.Second)
	for name, c := range map[string]struct {
		link linked.Link
		want []float64 // the buffered entries, if known, and the lag, if known
	}{
		"nothing waits":             {linked.Link{Open: true, Newest: at}, []float64{0, 0}},
		"a backlog":                 {linked.Link{Open: true, Newest: at, Buffered: 500}, []float64{500, 90}},
		"no sample yet":             {linked.Link{Open: true}, []float64{0, 0}},
		"a backlog, no sample yet":  {linked.Link{Open: true, Buffered: 3}, []float64{3}},
		"a clock that is ahead":     {linked.Link{Open: true, Newest: now.Add(time.Hour), Buffered: 1}, []float64{1, 0}},
		"no link":                   {linked.Link{Newest: at, Buffered: 500}, []float64{90}},
		"no link since the restart": {linked.Link{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out := newCollector(func() []discovery.Info { return bridgesOf("a", "") }, func(string) linked.Link { return c.link }, func() time.Time { return now })
			var got []float64
			for _, metric := range []string{"otkit_bridge_buffered_entries", "otkit_bridge_lag_seconds"} {
				got = append(got, valuesOf(t, out, metric)...)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// valuesOf returns the values of the gauges of a name.
func valuesOf(t *testing.T, c prometheus.Collector, name string) (all []float64) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				all = append(all, m.GetGauge().GetValue())
			}
		}
	}
	return all
}

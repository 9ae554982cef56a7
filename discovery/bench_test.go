package discovery_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/otkit/otkit/discovery"
)

// BenchmarkStates is what the monitor of alarms costs in a second, with 50 bridges.
func BenchmarkStates(b *testing.B) {
	n := &network{}
	ids := make([]string, 50)
	for i := range ids {
		ids[i] = fmt.Sprint("b", i)
	}
	n.add(ids...)
	s, err := discovery.New(b.Context(), discovery.Deps{Store: discovery.NewMemory(), Bridges: n}, discovery.Options{EngineID: "e",
		EngineURL: func(context.Context, string) (string, error) { return "http://engine", nil }})
	if err != nil {
		b.Fatal(err)
	}
	for _, id := range ids {
		if _, _, err := s.Bind(b.Context(), discovery.BindRequest{BridgeID: id, BridgeURL: urlOf(id)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(s.States()) != 50 {
			b.Fatal("states")
		}
	}
}

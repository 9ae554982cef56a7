package discovery_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

// BenchmarkManifest100kTags is what a changed manifest of 100,000 tags costs an engine, without its store.
func BenchmarkManifest100kTags(b *testing.B) {
	n := &network{}
	n.add("b0")
	s, err := discovery.New(b.Context(), discovery.Deps{Store: discovery.NewMemory(), Bridges: n}, discovery.Options{EngineID: "e",
		EngineURL: func(context.Context, string) (string, error) { return "http://engine", nil }})
	if err != nil {
		b.Fatal(err)
	}
	_, m, err := s.Bind(b.Context(), discovery.BindRequest{BridgeID: "b0", BridgeURL: urlOf("b0")})
	if err != nil {
		b.Fatal(err)
	}
	m.Tags = make([]link.ManifestTag, 100_000)
	for i := range m.Tags {
		m.Tags[i] = link.ManifestTag{Name: fmt.Sprintf("line 1.station %d.value", i), Address: strconv.Itoa(i), DataType: "Float", ScanInterval: 1000, Unit: "kN"}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Shell = &link.Shell{ID: "urn:press:" + strconv.Itoa(i), IDShort: "Press"}
		if err := s.UpdateManifest(b.Context(), "b0", m); err != nil {
			b.Fatal(err)
		}
	}
}

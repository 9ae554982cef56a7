package bridgeclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/otkit/otkit/discovery/bridgeclient"
)

// BenchmarkStatus is what a heartbeat costs, with the part of the bridge, which answers in the same process.
func BenchmarkStatus(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"bridgeId":"b1","status":"bound","boundEngineId":"e","driverType":"Modbus","driverId":"d","version":"1"}`)
	}))
	defer s.Close()
	c, err := bridgeclient.New(bridgeclient.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Status(b.Context(), s.URL); err != nil {
			b.Fatal(err)
		}
	}
}

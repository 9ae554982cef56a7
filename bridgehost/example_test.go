package bridgehost_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
)

// A bridge with a driver of its own, and without a port: its Handler is served by the program around it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	driver, err := simdriver.New(simdriver.Options{Scenario: simdriver.RandomWalk})
	if err != nil {
		panic(err)
	}
	flow := tags.Tag{Name: "pump.flow", Address: "device1.tag1", DataType: tags.Float, Unit: "l/min"}
	b, err := bridgehost.New(ctx, bridgehost.Options{
		DataDir: dir, ID: "bridge-7",
		Driver: bridgehost.Driver{ID: "pump", Type: "Simulation", Driver: driver, Options: tags.DriverOptions{Tags: []tags.Tag{flow}}},
		Link: bridgehost.LinkOptions{Dial: func(context.Context, string, []string) (link.BridgeConn, error) {
			return nil, errors.New("package transport/bridgelink dials engines")
		}},
	})
	if err != nil {
		panic(err)
	}
	defer func() { _ = b.Close(ctx) }()
	b.Start()
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/bridge/status", nil))
	fmt.Println(w.Code, b.Host().Status().Status)
	// Output: 200 free
}

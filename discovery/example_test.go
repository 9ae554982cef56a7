package discovery_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

// bridges stands for the bridges of a plant: a program uses package bridgeclient.
type bridges struct{}

func (bridges) Status(context.Context, string) (link.Status, error) {
	return link.Status{BridgeID: "press-1", Status: link.StatusFree, DriverID: "press"}, nil
}

func (bridges) Bind(context.Context, string, string, link.BindRequest) (link.Manifest, error) {
	return link.Manifest{BridgeID: "press-1", DriverID: "press", DriverType: "Modbus", BindingToken: "a token of the bridge",
		Tags: []link.ManifestTag{{Name: "force", Address: "40001", DataType: "Float"}}}, nil
}

func (bridges) Release(context.Context, string, string) error { return nil }

func Example() {
	ctx := context.Background()
	service, err := discovery.New(ctx, discovery.Deps{Store: discovery.NewMemory(), Bridges: bridges{}}, discovery.Options{EngineID: "engine-1",
		EngineURL: func(context.Context, string) (string, error) { return "http://10.0.0.2:5001", nil }})
	if err != nil {
		panic(err)
	}
	_, manifest, err := service.Bind(ctx, discovery.BindRequest{BridgeID: "press-1", BridgeURL: "http://10.0.0.5:5100"})
	if err != nil {
		panic(err)
	}
	list, err := discovery.Tags(manifest)
	if err != nil {
		panic(err)
	}
	fmt.Println(list[0].Name, service.Bindings()[0].Online)
	fmt.Println(service.Unbind(ctx, "press-1"), len(service.Bindings()))
	// Output:
	// press.force false
	// <nil> 0
}

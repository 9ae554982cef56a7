package platformgrpc_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/alarmsapi/alarmsgrpc"
	"github.com/otkit/otkit/transport/platformgrpc"
	"github.com/otkit/otkit/transport/tagsapi/tagsgrpc"
)

func Example() {
	ctx := context.Background()
	engine, err := tags.New(tags.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close(ctx) }()
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = service.Close(ctx) }()
	aboutTags, err := tagsgrpc.New(engine, tagsgrpc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	aboutAlarms, err := alarmsgrpc.New(service, alarmsgrpc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := grpc.NewServer()
	platformgrpc.Register(server, aboutTags, aboutAlarms)
	fmt.Println(len(server.GetServiceInfo()["platform.v1.PlatformApi"].Methods), "methods")
	// Output: 14 methods
}

package aasgrpc_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi/aasgrpc"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/middleware/middlewaregrpc"
)

// A gRPC server of your own registers the services. The interceptor turns errors into statuses.
func Example() {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = service.Close(context.Background()) }()
	api, err := aasgrpc.New(service)
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(middlewaregrpc.UnaryErrors(middleware.TraceOptions{})))
	api.Register(server)
	fmt.Println(len(server.GetServiceInfo()), "services")
	// Output: 2 services
}

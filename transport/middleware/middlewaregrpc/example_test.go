package middlewaregrpc_test

import (
	"context"
	"fmt"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/middleware/middlewaregrpc"
)

var errPumpNotFound = fault.New(fault.NotFound, "PUMP_NOT_FOUND", "pump not found")

// A gRPC server of your own returns the domains' errors as statuses, and survives a panic.
func Example() {
	o := middleware.TraceOptions{Logger: slog.New(slog.DiscardHandler)}
	_ = grpc.NewServer(grpc.ChainUnaryInterceptor(middlewaregrpc.UnaryErrors(o)), grpc.ChainStreamInterceptor(middlewaregrpc.StreamErrors(o)))

	for _, handler := range []grpc.UnaryHandler{ // gRPC calls the interceptor with each handler
		func(context.Context, any) (any, error) { return nil, errPumpNotFound.On("pump", "P-101") },
		func(context.Context, any) (any, error) { panic("a bug") },
	} {
		_, err := middlewaregrpc.UnaryErrors(o)(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/plant.v1.Pumps/Get"}, handler)
		fmt.Println(status.Code(err))
	}
	// Output:
	// NotFound
	// Internal
}

package problemgrpc_test

import (
	"fmt"

	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem/problemgrpc"
)

var errPumpNotFound = fault.New(fault.NotFound, "PUMP_NOT_FOUND", "pump not found")

func Example() {
	s := status.Convert(problemgrpc.Status(errPumpNotFound.On("pump", "P-101")))
	fmt.Println(s.Code(), s.Message())
	// Output: NotFound pump not found: P-101
}

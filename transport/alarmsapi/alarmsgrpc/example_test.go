package alarmsgrpc_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/transport/alarmsapi/alarmsgrpc"
)

// Its Register method puts it on a grpc.Server; here it is called directly.
func Example() {
	ctx := context.Background()
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = service.Close(ctx) }()
	api, err := alarmsgrpc.New(service, alarmsgrpc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = service.Raise(ctx, alarms.Alarm{Key: "app:pump-101", Source: "P-101", Message: "the pump does not start", Severity: alarms.Error})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := api.GetAlarms(ctx, &pb.GetAlarmsRequest{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.GetTotalCount(), answer.GetAlarms()[0].GetSeverity(), answer.GetAlarms()[0].GetMessage())
	// Output: 1 Critical the pump does not start
}

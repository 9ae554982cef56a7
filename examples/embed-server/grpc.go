package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// flowServer is the program's own gRPC service. It is written here by hand; with a .proto of your own, the interface and
// the description are generated.
type flowServer interface {
	GetFlow(ctx context.Context, _ *emptypb.Empty) (*wrapperspb.DoubleValue, error)
}

const getFlowMethod = "/plant.v1.Plant/GetFlow"

var plantService = grpc.ServiceDesc{ServiceName: "plant.v1.Plant", HandlerType: (*flowServer)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "GetFlow", Handler: getFlow}}}

func getFlow(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(emptypb.Empty)
	if err := dec(in); err != nil {
		return nil, err
	}
	// The interceptor has the guard: a description that leaves it out lets everybody call.
	return interceptor(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: getFlowMethod}, func(ctx context.Context, in any) (any, error) {
		return srv.(flowServer).GetFlow(ctx, in.(*emptypb.Empty))
	})
}

// GetFlow implements flowServer. An error has the code and status that it has over HTTP.
func (p *plant) GetFlow(context.Context, *emptypb.Empty) (*wrapperspb.DoubleValue, error) {
	flow, err := p.readFlow()
	if err != nil {
		return nil, err
	}
	value, _ := flow.Sample.Value.Float()
	return wrapperspb.Double(value), nil
}

package grpcapi_test

import (
	"context"
	"fmt"

	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/grpcapi"
)

// A program with a gRPC server of its own registers the surface there. Errors are the domain's, until
// an interceptor such as middleware.UnaryErrors turns them into statuses.
func Example() {
	engine, err := tags.New(tags.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close(context.Background()) }()
	if err := engine.Define(tags.Tag{Name: "tank.level", Driver: "tank", DataType: tags.Float, Unit: "m"}); err != nil {
		fmt.Println(err)
		return
	}
	var platform platformv1.PlatformApiServer = &grpcapi.Platform{
		Engine: engine,
		Caller: func(context.Context) string { return "somebody" },
		Live:   context.WithCancel,
	}
	answer, err := platform.ReadTag(context.Background(), &platformv1.ReadTagRequest{TagName: "tank.level"})
	fmt.Println(answer.GetTag().GetUnit(), answer.GetTag().GetQuality(), err)
	_, err = platform.ReadTag(context.Background(), &platformv1.ReadTagRequest{TagName: "tank.flow"})
	fmt.Println(err)
	// Output:
	// m Bad <nil>
	// tag not found: tank.flow
}

package tagsgrpc_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/tagsapi/tagsgrpc"
)

// A program with a gRPC server of its own registers the API there. Errors are the domain's, until
// an interceptor such as middlewaregrpc.UnaryErrors turns them into statuses.
func Example() {
	engine, err := tags.New(tags.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close(context.Background()) }()
	if err := engine.DefineTags(tags.Tag{Name: "tank.level", Driver: "tank", DataType: tags.Float, Unit: "m"}); err != nil {
		fmt.Println(err)
		return
	}
	service, err := tagsgrpc.New(engine, tagsgrpc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	service.Register(grpc.NewServer())

	answer, err := service.ReadTag(context.Background(), &platformv1.ReadTagRequest{TagName: "tank.level"})
	fmt.Println(answer.GetTag().GetUnit(), answer.GetTag().GetQuality(), err)
	_, err = service.ReadTag(context.Background(), &platformv1.ReadTagRequest{TagName: "tank.flow"})
	fmt.Println(err)
	// Output:
	// m Bad <nil>
	// tag not found: tank.flow
}

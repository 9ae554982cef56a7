package platformgrpc

import (
	"google.golang.org/grpc"

	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/transport/alarmsapi/alarmsgrpc"
	"github.com/otkit/otkit/transport/tagsapi/tagsgrpc"
)

// The methods of the halves hide those of unimplemented, which lie deeper.
type (
	tagsHalf      struct{ *tagsgrpc.Service }
	alarmsHalf    struct{ *alarmsgrpc.Service }
	unimplemented struct{ deeper }
	deeper        struct {
		pb.UnimplementedPlatformApiServer
	}
)

// Register registers PlatformApi with the calls of both services, which are required.
func Register(r grpc.ServiceRegistrar, tags *tagsgrpc.Service, alarms *alarmsgrpc.Service) {
	pb.RegisterPlatformApiServer(r, struct {
		tagsHalf
		alarmsHalf
		unimplemented
	}{tagsHalf: tagsHalf{tags}, alarmsHalf: alarmsHalf{alarms}})
}

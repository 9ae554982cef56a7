// Package platformgrpc puts the gRPC services of several domains together that the protos have in one:
// PlatformApi is about tags and alarms.
package platformgrpc

import (
	"google.golang.org/grpc"

	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/transport/alarmsapi/alarmsgrpc"
	"github.com/otkit/otkit/transport/tagsapi/tagsgrpc"
)

// The methods of a domain hide those of unimplemented, which lie deeper.
type (
	unimplemented struct {
		pb.UnimplementedPlatformApiServer
	}

	onlyTags struct {
		unimplemented
		*tagsgrpc.Service
	}
	onlyAlarms struct {
		unimplemented
		*alarmsgrpc.Service
	}
	both struct {
		unimplemented
		*tagsPart
		*alarmsPart
	}
	tagsPart   = tagsgrpc.Service
	alarmsPart = alarmsgrpc.Service
)

// Register registers PlatformApi. The calls of a domain that is nil are Unimplemented; without both there is
// no service.
func Register(r grpc.ServiceRegistrar, tags *tagsgrpc.Service, alarms *alarmsgrpc.Service) {
	if s := server(tags, alarms); s != nil {
		pb.RegisterPlatformApiServer(r, s)
	}
}

func server(tags *tagsgrpc.Service, alarms *alarmsgrpc.Service) pb.PlatformApiServer {
	switch {
	case tags != nil && alarms != nil:
		return both{tagsPart: tags, alarmsPart: alarms}
	case tags != nil:
		return onlyTags{Service: tags}
	case alarms != nil:
		return onlyAlarms{Service: alarms}
	}
	return nil
}

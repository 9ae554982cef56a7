package bridgelink

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem/problemgrpc"
)

// known are the errors that keep their meaning on the wire.
var known = map[string]*fault.Error{}

func init() {
	for _, f := range []*fault.Error{link.ErrRefused, link.ErrProtocol, link.ErrReplaced, link.ErrElsewhere, link.ErrEnded, link.ErrSilent} {
		known[f.Code] = f
	}
}

// received returns the error of a status that came from an engine. Only an engine of ours can refuse a bridge: the code alone may be that of a proxy.
func received(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != problemgrpc.Domain {
			continue
		}
		if f, ok := known[info.GetReason()]; ok {
			own := *f
			own.Message, own.Metadata = s.Message(), info.GetMetadata()
			return &own
		}
		if s.Code() == codes.Unavailable {
			return link.ErrEnded.Because("%s", s.Message())
		}
	}
	return errText(s.Message())
}

// errText is why there is no link, without the words that gRPC puts before it.
type errText string

func (e errText) Error() string { return string(e) }

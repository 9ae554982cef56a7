package bridgelink

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // what bridges may compress with
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/transport/auth/operation"
	"github.com/otkit/otkit/transport/problem/problemgrpc"
	"github.com/otkit/otkit/transport/remote"
)

// Hub serves links. Serve returns when the link is to end, with what the bridge is to be told; it must return when ctx ends.
type Hub interface {
	Serve(ctx context.Context, c link.EngineConn) error
}

// Server is the gRPC service of the links.
type Server struct {
	platformv1.UnimplementedBridgeLinkServer
	hub Hub
}

// NewServer returns a server that passes links to hub.
func NewServer(hub Hub) (*Server, error) {
	if hub == nil {
		return nil, errors.New("bridgelink: the Hub is nil")
	}
	return &Server{hub: hub}, nil
}

// Register adds the service to a gRPC server. It must take messages of at least 1 MiB.
func (s *Server) Register(r grpc.ServiceRegistrar) { platformv1.RegisterBridgeLinkServer(r, s) }

// maxLinks is how many bridges may be behind one address, such as that of a plant's router.
const maxLinks = 1000

// Operations returns the row of the service in the table of operations of package auth.
func Operations() []operation.Operation {
	return []operation.Operation{{
		ID: "connectBridge", GRPC: []string{platformv1.BridgeLink_Connect_FullMethodName}, Access: operation.Open,
		Unaudited:  "a bridge proves itself with the key of its binding, and binding is audited",
		MaxStreams: maxLinks,
	}}
}

// Connect implements platformv1.BridgeLinkServer.
func (s *Server) Connect(stream grpc.BidiStreamingServer[platformv1.BridgeFrame, platformv1.EngineFrame]) error {
	err := s.hub.Serve(stream.Context(), &engineConn{stream: stream})
	if cause := context.Cause(stream.Context()); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause // such as that the server stops
	}
	return problemgrpc.Status(err)
}

// engineConn is a link.EngineConn.
type engineConn struct {
	stream grpc.BidiStreamingServer[platformv1.BridgeFrame, platformv1.EngineFrame]

	mu sync.Mutex // held while a frame is sent

	// Of Recv alone.
	greeted bool
	parts   parts
}

// Send implements link.EngineConn.
func (c *engineConn) Send(f link.FromEngine) error {
	m := engineMessage(f)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream.Send(m)
}

// Recv implements link.EngineConn.
func (c *engineConn) Recv() (link.FromBridge, error) {
	for {
		m, err := c.stream.Recv()
		if err != nil {
			return link.FromBridge{}, recvError(err)
		}
		if !c.greeted && m.GetHello() == nil { // before that nothing is collected of a stranger
			return link.FromBridge{}, link.ErrProtocol.Because("the first frame is not Hello")
		}
		c.greeted = true
		f, whole, err := c.parts.add(m, proto.Size(m))
		if err != nil || whole {
			return f, err
		}
	}
}

func recvError(err error) error {
	if errors.Is(err, io.EOF) || status.Code(err) == codes.Canceled {
		return io.EOF // the bridge has closed the link, or its process has ended
	}
	if _, ok := fault.From(err); ok {
		return err
	}
	if status.Code(err) == codes.ResourceExhausted {
		return link.ErrProtocol.Because("%s", status.Convert(err).Message())
	}
	return err
}

// Peer implements link.EngineConn.
func (c *engineConn) Peer() string {
	if p, ok := peer.FromContext(c.stream.Context()); ok {
		return remote.Shown(c.stream.Context(), p.Addr)
	}
	return ""
}

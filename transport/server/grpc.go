package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/middleware/middlewaregrpc"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/tracing"
)

// streamWorkers is how many goroutines wait for gRPC calls; calls beyond it get goroutines of their own.
const streamWorkers = 64

// interceptors stand before every gRPC method. foreign counts the calls of a host's own server, nil for ours.
func (s *Server) interceptors(foreign *inflight) interceptors {
	trace := middleware.TraceOptions{Logger: s.log, Access: s.opts.AccessLog, SpanTraceID: tracing.TraceID}
	unary := []grpc.UnaryServerInterceptor{s.access.resolveUnary, s.metrics.Unary, middlewaregrpc.UnaryErrors(trace), s.access.limitUnary, s.guard.Unary()}
	stream := []grpc.StreamServerInterceptor{s.access.resolveStream, s.metrics.Stream, middlewaregrpc.StreamErrors(trace), s.access.limitStream, s.endStream, s.guard.Stream(), s.limitStream}
	if foreign != nil {
		unary, stream = slices.Insert(unary, 3, foreign.unary), slices.Insert(stream, 3, foreign.stream)
	}
	return interceptors{chainUnary(unary...), chainStream(stream...)}
}

// buildGRPC collects the services of the parts and builds the gRPC server behind our ports.
func (s *Server) buildGRPC() error {
	s.services = &services{}
	for _, p := range s.parts {
		if p.GRPC == nil {
			continue
		}
		if err := p.GRPC(s.services); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	g := grpc.NewServer(s.grpcOptions()...)
	s.grpc = g // from here on close stops it and its workers
	state := grpchealth.NewServer()
	own := &services{registered: slices.Clone(s.services.registered)}
	healthpb.RegisterHealthServer(own, state)
	reflection.Register(reflected{own, g})
	names := []string{}
	for _, desc := range own.build(s.interceptors(nil)) {
		g.RegisterService(desc, struct{}{})
	}
	for _, r := range s.services.registered {
		names = append(names, r.desc.ServiceName)
	}
	s.guard.Covers(g.GetServiceInfo())
	if err := errors.Join(s.services.err(), s.guard.Err()); err != nil {
		return err
	}
	if err := s.guard.Unserved(); err != nil {
		return err
	}
	s.background(func() { s.health.Sync(s.stopping, state, 5*time.Second, names...) })
	return nil
}

// reflected registers reflection with the services, and lets it see those of a server.
type reflected struct {
	*services
	server *grpc.Server
}

// GetServiceInfo implements reflection.ServiceInfoProvider.
func (r reflected) GetServiceInfo() map[string]grpc.ServiceInfo { return r.server.GetServiceInfo() }

func (s *Server) grpcOptions() []grpc.ServerOption {
	maxBody := s.opts.MaxBodyBytes
	if maxBody == 0 {
		maxBody = middleware.DefaultMaxBody
	}
	return []grpc.ServerOption{
		tracing.ServerOption(s.tracer),
		grpc.Creds(oneport.Credentials()),
		grpc.InTapHandle(tap),
		grpc.MaxConcurrentStreams(maxStreamsPerConn),
		// A new goroutine for each call grows its stack through the interceptors again: 15 % of a call.
		grpc.NumStreamWorkers(streamWorkers),
		grpc.MaxRecvMsgSize(int(maxBody)),
		// A peer that is gone without a word is noticed, and clients may ask often enough to notice us.
		// A connection without a call is closed after a while; clients open another one when they call.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second, MaxConnectionIdle: s.opts.IdleTimeout}),
		grpc.ConnectionTimeout(s.opts.HeaderTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
}

// endStream lets no stream outlive the server. Without it those that wait for their client or for a
// change of health, which know nothing of the server, would hold up a stop until they are cut off.
func (s *Server) endStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.stopping, func() { cancel(errStopping) })()
	err := handler(srv, &endingStream{stream, ctx, info.IsClientStream})
	if err != nil && errors.Is(context.Cause(ctx), errStopping) {
		return errStopping
	}
	return err
}

type endingStream struct {
	grpc.ServerStream
	ctx   context.Context
	waits bool // the handler may wait long for the client's next message
}

func (s *endingStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. A message that is waited for when the context ends is given
// up; grpc ends the waiting as soon as the handler has returned.
func (s *endingStream) RecvMsg(m any) error {
	if !s.waits {
		return s.ServerStream.RecvMsg(m)
	}
	received := make(chan error, 1)
	go func() { received <- s.ServerStream.RecvMsg(m) }()
	select {
	case err := <-received:
		return err
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

package server

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/transport/grpcapi"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/tracing"
)

// newGRPC builds the gRPC server and registers its services.
func (s *Server) newGRPC() (*grpc.Server, error) {
	trace := middleware.TraceOptions{Logger: s.log}
	maxBody := s.opts.MaxBodyBytes
	if maxBody == 0 {
		maxBody = middleware.DefaultMaxBody
	}
	options := []grpc.ServerOption{
		tracing.ServerOption(s.tracer),
		grpc.Creds(oneport.Credentials()),
		grpc.MaxConcurrentStreams(maxStreamsPerConn),
		grpc.MaxRecvMsgSize(int(maxBody)),
		grpc.ChainUnaryInterceptor(s.metrics.Unary, middleware.UnaryErrors(trace), s.guard.Unary()),
		grpc.ChainStreamInterceptor(s.metrics.Stream, middleware.StreamErrors(trace), s.endStream, s.guard.Stream(), s.limitStream),
		// A peer that is gone without a word is noticed, and clients may ask often enough to notice us.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	g := grpc.NewServer(options...)
	platformv1.RegisterPlatformApiServer(g, &grpcapi.Platform{Engine: s.plant.engine, Alarms: s.room.service, Caller: callerName, Live: s.untilStop})
	platformv1.RegisterAasRepositoryApiServer(g, &grpcapi.ShellRepository{Service: s.shells.service})
	platformv1.RegisterAasRegistryApiServer(g, &grpcapi.ShellRegistry{Service: s.shells.service})
	state := grpchealth.NewServer()
	healthpb.RegisterHealthServer(g, state)
	reflection.Register(g)
	s.guard.Covers(g.GetServiceInfo())
	if err := s.guard.Err(); err != nil {
		return nil, err
	}
	s.wg.Go(func() {
		s.health.Sync(s.stopping, state, 5*time.Second, platformv1.PlatformApi_ServiceDesc.ServiceName,
			platformv1.AasRepositoryApi_ServiceDesc.ServiceName, platformv1.AasRegistryApi_ServiceDesc.ServiceName)
	})
	return g, nil
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

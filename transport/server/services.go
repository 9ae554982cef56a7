package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
)

// services are the gRPC services of the parts. The methods of a service may come from several parts.
type services struct {
	registered []registration
	errs       []error
}

type registration struct {
	desc *grpc.ServiceDesc
	impl any
}

// interceptors stand before every method, on whichever grpc.Server it is registered.
type interceptors struct {
	unary  grpc.UnaryServerInterceptor
	stream grpc.StreamServerInterceptor
}

// RegisterService implements grpc.ServiceRegistrar.
func (s *services) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if !implements(desc, impl) {
		s.errs = append(s.errs, fmt.Errorf("server: gRPC service %s: %T does not implement it", desc.ServiceName, impl))
		return
	}
	for _, r := range s.registered {
		if r.desc.ServiceName != desc.ServiceName {
			continue
		}
		known := methodsOf(r.desc)
		for _, m := range methodsOf(desc) {
			if slices.Contains(known, m) {
				s.errs = append(s.errs, fmt.Errorf("server: gRPC method /%s/%s is registered twice", desc.ServiceName, m.Name))
			}
		}
	}
	s.registered = append(s.registered, registration{desc, impl})
}

func (s *services) err() error { return errors.Join(s.errs...) }

func methodsOf(desc *grpc.ServiceDesc) (list []grpc.MethodInfo) {
	for _, m := range desc.Methods {
		list = append(list, grpc.MethodInfo{Name: m.MethodName})
	}
	for _, d := range desc.Streams {
		list = append(list, grpc.MethodInfo{Name: d.StreamName, IsClientStream: d.ClientStreams, IsServerStream: d.ServerStreams})
	}
	return list
}

// build returns the services with interceptors before each method, and the implementations bound.
func (s *services) build(i interceptors) (list []*grpc.ServiceDesc) {
	for _, r := range s.registered {
		at := slices.IndexFunc(list, func(d *grpc.ServiceDesc) bool { return d.ServiceName == r.desc.ServiceName })
		if at < 0 {
			at = len(list)
			list = append(list, &grpc.ServiceDesc{ServiceName: r.desc.ServiceName, HandlerType: (*any)(nil), Metadata: r.desc.Metadata})
		}
		for _, m := range r.desc.Methods {
			list[at].Methods = append(list[at].Methods, grpc.MethodDesc{MethodName: m.MethodName, Handler: i.method(m, r.impl)})
		}
		for _, d := range r.desc.Streams {
			d.Handler = i.streaming(d, "/"+r.desc.ServiceName+"/"+d.StreamName, r.impl)
			list[at].Streams = append(list[at].Streams, d)
		}
	}
	return list
}

// method puts the interceptors inside of those that the grpc.Server may have.
func (i interceptors) method(m grpc.MethodDesc, impl any) grpc.MethodHandler {
	return func(_ any, ctx context.Context, dec func(any) error, outer grpc.UnaryServerInterceptor) (any, error) {
		if outer == nil {
			return m.Handler(impl, ctx, dec, i.unary)
		}
		return m.Handler(impl, ctx, dec, func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			return outer(ctx, req, info, func(ctx context.Context, req any) (any, error) { return i.unary(ctx, req, info, handler) })
		})
	}
}

func (i interceptors) streaming(d grpc.StreamDesc, full string, impl any) grpc.StreamHandler {
	info := &grpc.StreamServerInfo{FullMethod: full, IsClientStream: d.ClientStreams, IsServerStream: d.ServerStreams}
	handler := d.Handler
	return func(_ any, stream grpc.ServerStream) error { return i.stream(impl, stream, info, handler) }
}

func chainUnary(list ...grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	if len(list) == 1 {
		return list[0]
	}
	first, rest := list[0], chainUnary(list[1:]...)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return first(ctx, req, info, func(ctx context.Context, req any) (any, error) { return rest(ctx, req, info, handler) })
	}
}

func chainStream(list ...grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	if len(list) == 1 {
		return list[0]
	}
	first, rest := list[0], chainStream(list[1:]...)
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return first(srv, stream, info, func(srv any, stream grpc.ServerStream) error { return rest(srv, stream, info, handler) })
	}
}

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Close ends the server: streams end first, then requests in progress are answered, then the parts
// finish and release what they hold, all as long as ctx lasts. What is left is cut off. Calling it
// again waits for the first call and returns its error.
func (s *Server) Close(ctx context.Context) error {
	s.closeOnce.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

func (s *Server) close(ctx context.Context) error {
	s.stop()
	s.startOnce.Do(func() {}) // waits for a start under way; from now on none starts what is being closed
	var errs []error
	s.mu.Lock()
	s.closed = true
	ports := slices.Clone(s.ports)
	s.mu.Unlock()
	for _, port := range ports {
		errs = append(errs, port.Close())
	}
	errs = append(errs, s.drain(ctx))
	s.wg.Wait()
	errs = append(errs, closeParts(ctx, s.parts))
	if s.health != nil {
		errs = append(errs, s.health.Close(ctx))
	}
	if s.endTraces != nil {
		errs = append(errs, s.endTraces(ctx))
	}
	return errors.Join(errs...)
}

// CloseParts drains and closes parts that no server has taken, in the order in which a server does.
func CloseParts(ctx context.Context, parts ...Part) error {
	return errors.Join(endStreams(ctx, parts), closeParts(ctx, parts))
}

func closeParts(ctx context.Context, parts []Part) error {
	var errs []error
	for _, p := range parts {
		errs = append(errs, p.run(ctx, "drain", p.Drain))
	}
	for _, p := range slices.Backward(parts) {
		errs = append(errs, p.run(ctx, "close", p.Close))
	}
	return errors.Join(errs...)
}

func endStreams(ctx context.Context, parts []Part) error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() { errs[i] = p.run(ctx, "end streams", p.EndStreams) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p Part) run(ctx context.Context, what string, do func(context.Context) error) error {
	if do == nil {
		return nil
	}
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %s: %w", p.Name, what, err)
	}
	return nil
}

// drain answers the requests in progress. It takes two thirds of the time there is and then cuts off
// what is left: a client that does not let go must not cost the work that the parts still have.
func (s *Server) drain(ctx context.Context) error {
	if end, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-time.Until(end)/3))
		defer cancel()
	}
	var calls sync.WaitGroup
	calls.Go(func() { s.stopGRPC(ctx) })
	calls.Go(func() {
		if err := endStreams(ctx, s.parts); err != nil {
			s.log.Warn("streams were cut off", "error", err)
		}
	})
	calls.Go(func() {
		if s.foreign.end(ctx) != nil {
			s.log.Warn("calls through the host's servers are still open")
		}
	})
	defer calls.Wait()
	if s.http == nil {
		return nil
	}
	err := s.http.Shutdown(ctx)
	if err != nil && ctx.Err() != nil {
		s.log.Warn("requests were cut off")
		err = s.http.Close()
	}
	return err
}

func (s *Server) stopGRPC(ctx context.Context) {
	if s.grpc == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.log.Warn("gRPC calls were cut off")
		s.grpc.Stop()
		<-done
	}
}

package bustest

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
)

// patience is how long the suite waits for what must come.
const patience = time.Minute

// rig has the buses of two engines.
type rig struct {
	*testing.T
	a, b bus.Bus
}

// within returns a context for a request that should be answered.
func (r rig) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.Cleanup(cancel)
	return ctx
}

func (r rig) subscribe(on bus.Bus, subject string, handle func([]byte)) (cancel func()) {
	r.Helper()
	cancel, err := on.Subscribe(subject, handle)
	require.NoError(r, err)
	return cancel
}

func (r rig) serve(on bus.Bus, subject string, handle func(context.Context, []byte) []byte) (cancel func()) {
	r.Helper()
	cancel, err := on.Serve(subject, handle)
	require.NoError(r, err)
	return cancel
}

// publish publishes, and again while the bus does not take it.
func (r rig) publish(on bus.Bus, subject string, data []byte) {
	r.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if err = on.Publish(subject, data); !errors.Is(err, bus.ErrDown) {
			break
		}
	}
	require.NoError(r, err)
}

// until publishes a message again and again, since others may miss it, until done is closed.
func (r rig) until(done <-chan struct{}, on bus.Bus, subject string, data []byte) {
	r.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		r.publish(on, subject, data)
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	require.Fail(r, "a message does not arrive", subject)
}

// request sends a request, and again while nobody is known to serve it.
func (r rig) request(on bus.Bus, subject string, data []byte) []byte {
	r.Helper()
	ctx := r.within()
	for {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		answer, err := on.Request(limited, subject, data)
		cancel()
		if err == nil {
			return answer
		}
		require.True(r, errors.Is(err, bus.ErrNoAnswer) || errors.Is(err, bus.ErrDown), "%v", err)
		require.NoError(r, ctx.Err(), "no answer to %s", subject)
		time.Sleep(5 * time.Millisecond)
	}
}

func (r rig) wait(done <-chan struct{}, what string) {
	r.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		require.Fail(r, what)
	}
}

// running checks that something has not ended. What should not happen is given a moment to.
func (r rig) running(done <-chan struct{}, what string) {
	r.Helper()
	select {
	case <-done:
		require.Fail(r, what)
	case <-time.After(50 * time.Millisecond):
	}
}

// ended returns a channel that is closed when f has returned.
func ended(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func numberOf(data []byte) int { return int(binary.BigEndian.Uint64(data)) }

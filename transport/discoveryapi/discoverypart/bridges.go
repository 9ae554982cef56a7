package discoverypart

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// DriverType is the type of the drivers of bridges.
const DriverType = "Bridge"

// bridges shows bound bridges as drivers of the tag engine. It is a discovery.Attacher.
type bridges struct {
	tags     *tagspart.Tags
	hub      *linked.Hub
	shells   *shells // nil for none
	stopOnce sync.Once
	stopping chan struct{} // closed when the server stops

	mu       sync.Mutex      // not held while drivers are added and removed: one that does not stop must not delay other bridges
	attached map[string]bool // by bridge id
}

// HasDriver implements discovery.Attacher.
func (b *bridges) HasDriver(id string) bool { return b.tags.Engine().HasDriver(id) }

// Attach implements discovery.Attacher.
func (b *bridges) Attach(_ context.Context, bound discovery.Binding, m link.Manifest) error {
	list, err := discovery.Tags(m)
	if err != nil {
		return err
	}
	b.mu.Lock()
	attached := b.attached[bound.BridgeID]
	b.mu.Unlock()
	if attached {
		err = b.tags.SetTags(bound.DriverID, list)
	} else {
		driver, ok := b.hub.Driver(bound.BridgeID).(bridgeDriver)
		if !ok {
			return errors.New("the driver of the link does not forward")
		}
		// Connect waits for the link: whoever asks again soon takes it when it opens.
		err = b.tags.AddDriver(tagspart.Driver{ID: bound.DriverID, Driver: &steady{driver, b.stopping},
			Options: tags.DriverOptions{Type: DriverType, MaxBackoff: time.Second, Tags: list}})
	}
	if err != nil {
		if errors.Is(err, tags.ErrDriverExists) {
			return discovery.ErrDriverTaken.On("driverId", bound.DriverID)
		}
		return err
	}
	b.mu.Lock()
	b.attached[bound.BridgeID] = true
	b.mu.Unlock()
	if b.shells != nil {
		b.shells.add(m)
	}
	return nil
}

// Detach implements discovery.Attacher. The shell stays: people may have completed it.
func (b *bridges) Detach(ctx context.Context, bound discovery.Binding) error {
	b.hub.Disconnect(bound.BridgeID)
	b.mu.Lock()
	attached := b.attached[bound.BridgeID]
	delete(b.attached, bound.BridgeID)
	b.mu.Unlock()
	if b.shells != nil {
		b.shells.forget(bound.BridgeID)
	}
	if !attached {
		return nil
	}
	return b.tags.RemoveDriver(ctx, bound.DriverID)
}

func (b *bridges) stop() { b.stopOnce.Do(func() { close(b.stopping) }) }

// bridgeDriver is what the driver of a link can do.
type bridgeDriver interface {
	tags.Driver
	tags.Forwarder
	tags.Browser
}

// steady is the driver of a bridge that does not report the end of its link while the server stops: that is no fault of the bridge, and
// alarm rules still follow the tags then.
type steady struct {
	bridgeDriver
	stopping <-chan struct{}
}

// Subscribe implements tags.Subscriber.
func (s *steady) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	return s.hold(ctx, s.bridgeDriver.Subscribe(ctx, points, emit))
}

// Forward implements tags.Forwarder.
func (s *steady) Forward(ctx context.Context, points []tags.Point, store func(context.Context, []tags.Forwarded) error) error {
	return s.hold(ctx, s.bridgeDriver.Forward(ctx, points, store))
}

// stopDelay is how much later than the links a server that stops may end what asks for them.
const stopDelay = 250 * time.Millisecond

// hold returns err, which ended a call. While the server stops it returns when ctx ends.
func (s *steady) hold(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
	case <-s.stopping:
		<-ctx.Done()
	case <-time.After(stopDelay):
		return err
	}
	return ctx.Err()
}

// watchStop learns that the server stops: its jobs end when its streams do.
func (b *bridges) watchStop(ctx context.Context) {
	<-ctx.Done()
	b.stop()
}

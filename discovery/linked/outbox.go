package linked

import (
	"context"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/wake"
)

// maxRequests is how many writes and browses may wait to be sent: more than the tag engine sends together.
const maxRequests = 1024

// outbox holds what is to be sent to a bridge. Whoever adds to it never waits. Its size has a bound: of acknowledgements, pings and pins only
// the newest counts.
type outbox struct {
	signal wake.Signal

	mu       sync.Mutex
	welcome  *link.Welcome
	greeted  bool   // pings come after Welcome
	through  uint64 // to be acknowledged, 0 for none
	ping     bool
	newReach *link.Reach
	silence  time.Duration // of the newest, see link.Reach
	requests []*request
}

// request is a write or a browse on its way.
type request struct {
	frame link.FromEngine
	sent  bool // it may have reached the bridge
}

func newOutbox() *outbox { return &outbox{signal: wake.NewSignal()} }

func (o *outbox) update(f func()) {
	o.mu.Lock()
	f()
	o.mu.Unlock()
	o.signal.Set()
}

func (o *outbox) greet(w *link.Welcome) {
	o.update(func() { o.welcome, o.silence = w, w.Reach.Silence })
}
func (o *outbox) ack(through uint64) { o.update(func() { o.through = through }) }
func (o *outbox) reach(r link.Reach) { o.update(func() { o.newReach, o.silence = &r, r.Silence }) }
func (o *outbox) pinging()           { o.update(func() { o.ping = true }) }

// add adds requests in order and reports whether it did: all or none.
func (o *outbox) add(requests ...*request) (ok bool) {
	o.update(func() {
		if ok = len(o.requests)+len(requests) <= maxRequests; ok {
			o.requests = append(o.requests, requests...)
		}
	})
	return ok
}

// withdraw removes a request that has not been sent and reports whether it did.
func (o *outbox) withdraw(r *request) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.sent {
		return false
	}
	for i, queued := range o.requests {
		if queued == r {
			o.requests = append(o.requests[:i], o.requests[i+1:]...)
			break
		}
	}
	return true
}

// next returns the next frame to send, and false if there is none. now is the clock of the link.
func (o *outbox) next(now func() time.Time) (f link.FromEngine, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.welcome != nil:
		f.Welcome, o.welcome, o.greeted = o.welcome, nil, true
		f.Welcome.Time = now()
	case o.ping && o.greeted:
		f.Ping, o.ping = &link.Ping{Time: now()}, false
	case o.through > 0:
		f.Ack, o.through = &link.Ack{Through: o.through}, 0
	case o.newReach != nil:
		f.Reach, o.newReach = o.newReach, nil
	case len(o.requests) > 0:
		f = o.requests[0].frame
		o.requests[0].sent = true
		o.requests[0] = nil
		if o.requests = o.requests[1:]; len(o.requests) == 0 {
			o.requests = nil
		}
	default:
		return f, false
	}
	return f, true
}

// interval returns the time between two pings: at least three come before the bridge gives the link up.
func (o *outbox) interval() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.silence > 0 {
		return o.silence / 4
	}
	return link.PingInterval
}

// run sends what is added, and pings, until ctx ends or the connection is gone.
func (o *outbox) run(ctx context.Context, c link.EngineConn, now func() time.Time) {
	interval := link.PingInterval
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if wanted := o.interval(); wanted != interval {
			interval = wanted
			ticker.Reset(interval)
		}
		for {
			f, ok := o.next(now)
			if !ok {
				break
			}
			if ctx.Err() != nil || c.Send(f) != nil {
				return // Recv tells why
			}
		}
		select {
		case <-o.signal.C():
		case <-ticker.C:
			o.pinging()
		case <-ctx.Done():
			return
		}
	}
}

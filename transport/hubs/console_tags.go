package hubs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/signalr"
)

const (
	// MaxConsoleTags is how many tags a client of a [Console] may have.
	MaxConsoleTags = 2000
	tagsInMessage  = 500
	leastThrottle  = 50 * time.Millisecond
	mostThrottle   = time.Hour
)

// tagValue is the value of a tag as clients get it.
type tagValue struct {
	Name      string     `json:"name"`
	Value     tags.Value `json:"value"`
	Quality   string     `json:"quality"`
	Reason    string     `json:"qualityReason,omitempty"`
	Timestamp time.Time  `json:"timestamp"`
}

// chooseTags is the method Tags.
func (c *Console) chooseTags(_ context.Context, client *signalr.Client, args signalr.Arguments) (any, error) {
	var names []string
	var throttleMs int64
	if err := args.Into(&names, &throttleMs); err != nil {
		return nil, err
	}
	throttle := time.Duration(throttleMs) * time.Millisecond
	switch {
	case len(names) > MaxConsoleTags:
		return nil, ErrInvalidRequest.Because("at most %d names", MaxConsoleTags).Invalid(fault.Field{Field: "names", Message: fmt.Sprintf("must be at most %d", MaxConsoleTags)})
	case throttleMs < leastThrottle.Milliseconds() || throttleMs > mostThrottle.Milliseconds():
		return nil, ErrInvalidRequest.Because("throttleMs must be %d to %d", leastThrottle.Milliseconds(), mostThrottle.Milliseconds())
	}
	sub, unknown, err := c.subscribe(names, throttle)
	if err != nil {
		return nil, err
	}
	if err := c.replaceTags(client, sub); err != nil {
		return nil, err
	}
	return map[string]any{"unknown": unknown}, nil
}

// subscribe returns a subscription of the names that exist, nil if none does.
func (c *Console) subscribe(names []string, throttle time.Duration) (sub *tags.Subscription, unknown []string, err error) {
	for { // again if a tag was removed meanwhile
		known := make([]string, 0, len(names))
		unknown = []string{}
		for _, name := range names {
			if _, err := c.tags.Read(name); errors.Is(err, tags.ErrTagNotFound) {
				unknown = append(unknown, name)
			} else {
				known = append(known, name)
			}
		}
		if len(known) == 0 {
			return nil, unknown, nil
		}
		sub, err = c.tags.Subscribe(tags.SubscribeOptions{Names: known, Throttle: throttle})
		if !errors.Is(err, tags.ErrTagNotFound) {
			return sub, unknown, err
		}
	}
}

// replaceTags ends what a client was sent, and sends it a subscription, which it owns. nil is none.
func (c *Console) replaceTags(client *signalr.Client, sub *tags.Subscription) error {
	closeSub := func() {
		if sub != nil {
			sub.Close()
		}
	}
	c.mu.Lock()
	s, err := c.session(client)
	if err != nil {
		c.mu.Unlock()
		closeSub()
		return err
	}
	end, ended := s.endTags, s.tagsEnd
	c.mu.Unlock()
	if end != nil { // methods of a client are called one after another: nothing replaces it meanwhile
		end()
		<-ended
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.endTags = nil
	if c.stopped || sub == nil || c.sessions[client] == nil {
		closeSub()
		return nil
	}
	ctx, cancel := context.WithCancel(client.Context())
	s.endTags, s.tagsEnd = cancel, make(chan struct{})
	done := s.tagsEnd
	c.running.Go(func() {
		defer close(done)
		defer cancel()
		defer sub.Close()
		sendTags(ctx, client, sub)
	})
	return nil
}

// sendTags sends a subscription until ctx ends. While the client does not read, the subscription keeps the newest
// value of each tag.
func sendTags(ctx context.Context, client *signalr.Client, sub *tags.Subscription) {
	for {
		if err := client.WaitForRoom(ctx, consoleQueue); err != nil {
			return
		}
		changes, err := sub.Next(ctx, tagsInMessage)
		if err != nil {
			return
		}
		values := make([]tagValue, len(changes))
		for i, change := range changes {
			values[i] = tagValue{Name: change.Tag.Name, Value: change.Value, Quality: change.Quality.String(), Reason: change.Reason.String(),
				Timestamp: change.Time().UTC()}
		}
		m, err := signalr.NewMessage("tags", values)
		if err != nil {
			return
		}
		client.Send(m)
	}
}

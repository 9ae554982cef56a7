package hubs

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/signalr"
)

// MaxConsoleSubmodels is how many submodels a client of a [Console] may have.
const MaxConsoleSubmodels = 100

// submodelValues are live values of a submodel as clients get them.
type submodelValues struct {
	ID       string         `json:"id"`
	Complete bool           `json:"complete"`
	Removed  bool           `json:"removed,omitempty"`
	Values   []liveProperty `json:"values"`
}

type liveProperty struct {
	Path      string    `json:"path"`
	TagName   string    `json:"tagName"`
	Value     *string   `json:"value,omitempty"`
	Quality   string    `json:"quality,omitempty"`
	Reason    string    `json:"qualityReason,omitempty"`
	Timestamp time.Time `json:"timestamp,omitzero"`
}

// chooseSubmodel is the method Submodel.
func (c *Console) chooseSubmodel(ctx context.Context, client *signalr.Client, args signalr.Arguments) (any, error) {
	var id string
	var throttleMs int64
	if err := args.Into(&id, &throttleMs); err != nil {
		return nil, err
	}
	if throttleMs != 0 && (throttleMs < leastThrottle.Milliseconds() || throttleMs > mostThrottle.Milliseconds()) {
		message := "must be 0 or 50 to 3600000"
		return nil, ErrInvalidRequest.Because("throttleMs %s", message).Invalid(fault.Field{Field: "throttleMs", Message: message})
	}
	if c.submodels == nil {
		return nil, ErrInvalidRequest.Because("there are no submodels")
	}
	if err := c.endSubmodel(client, id); err != nil || throttleMs == 0 {
		return nil, err
	}
	watch, err := c.submodels.WatchValues(ctx, id, repository.WatchOptions{Throttle: time.Duration(throttleMs) * time.Millisecond})
	if err != nil {
		return nil, err
	}
	return nil, c.sendSubmodel(client, id, watch)
}

// endSubmodel ends what a client is sent of a submodel. Methods of a client are called one after another: nothing
// begins meanwhile.
func (c *Console) endSubmodel(client *signalr.Client, id string) error {
	c.mu.Lock()
	s, err := c.session(client)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	old := s.submodels[id]
	delete(s.submodels, id)
	c.mu.Unlock()
	if old != nil {
		old.cancel()
		<-old.ended
	}
	return nil
}

// sendSubmodel sends a client a watch, which it owns.
func (c *Console) sendSubmodel(client *signalr.Client, id string, watch *repository.ValueWatch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[client]
	switch {
	case c.stopped || s == nil:
		watch.Close()
		return ErrStopping
	case len(s.submodels) >= MaxConsoleSubmodels:
		watch.Close()
		return ErrInvalidRequest.Because("at most %d submodels", MaxConsoleSubmodels)
	}
	ctx, cancel := context.WithCancel(client.Context())
	one := &sending{cancel, make(chan struct{})}
	if s.submodels == nil {
		s.submodels = make(map[string]*sending)
	}
	s.submodels[id] = one
	c.running.Go(func() {
		defer close(one.ended)
		defer cancel()
		defer watch.Close()
		err := sendValues(ctx, client, id, watch)
		c.mu.Lock()
		defer c.mu.Unlock()
		if s.submodels[id] == one { // it ended by itself
			delete(s.submodels, id)
		}
		if errors.Is(err, repository.ErrSubmodelNotFound) {
			sendSubmodelMessage(client, submodelValues{ID: id, Removed: true, Values: []liveProperty{}})
		}
	})
	return nil
}

// sendValues sends live values until ctx ends or the submodel is gone. While the client does not read, the watch keeps
// the newest of each.
func sendValues(ctx context.Context, client *signalr.Client, id string, watch *repository.ValueWatch) error {
	for {
		if err := client.WaitForRoom(ctx, consoleQueue); err != nil {
			return err
		}
		changes, err := watch.Next(ctx)
		if err != nil {
			return err
		}
		message := submodelValues{ID: id, Complete: changes.Complete}
		for list := changes.Values; ; {
			n := min(len(list), tagsInMessage)
			message.Values = make([]liveProperty, n)
			for i, v := range list[:n] {
				message.Values[i] = liveProperty{Path: v.Path, TagName: v.Tag, Value: v.Value, Quality: v.Quality, Reason: v.Reason, Timestamp: v.At}
			}
			sendSubmodelMessage(client, message)
			if list = list[n:]; len(list) == 0 {
				break
			}
			message.Complete = false // the rest of it
			if err := client.WaitForRoom(ctx, consoleQueue); err != nil {
				return err
			}
		}
	}
}

func sendSubmodelMessage(client *signalr.Client, v submodelValues) {
	if m, err := signalr.NewMessage("submodel", v); err == nil { // it encodes
		client.Send(m)
	}
}

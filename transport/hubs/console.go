package hubs

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/signalr"
)

// ConsoleJournal is the journal of alarms. An [alarms.Service] is one.
type ConsoleJournal interface {
	Journal
	// Events returns at most limit events with a number above after, ascending.
	Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error)
	// Wait returns when an event with a number above after is stored.
	Wait(ctx context.Context, after int64) error
	// End returns the number of the last stored event; 0 for none.
	End(ctx context.Context) (int64, error)
}

// LiveTags are the tags. A [tags.Engine] is one.
type LiveTags interface {
	Read(name string) (tags.Snapshot, error)
	Subscribe(o tags.SubscribeOptions) (*tags.Subscription, error)
}

// Errors of the methods of a [Console].
var (
	ErrInvalidRequest = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")
	ErrPositionGone   = fault.New(fault.NotFound, "POSITION_GONE", "the journal does not go back to the position, or is another one; read the alarms anew")
	ErrStopping       = fault.New(fault.Unavailable, "UNAVAILABLE", "the server is stopping")
)

// LiveSubmodels are the submodels. A [repository.Service] is one.
type LiveSubmodels interface {
	WatchValues(ctx context.Context, id string, o repository.WatchOptions) (*repository.ValueWatch, error)
}

// Console serves the methods of the hub /hubs/console, by which each client chooses what it is sent. Make it with [NewConsole].
type Console struct {
	tags      LiveTags
	submodels LiveSubmodels // nil for none
	feed      *alarmFeed

	mu       sync.Mutex
	stopped  bool
	sessions map[*signalr.Client]*session
	running  sync.WaitGroup // what sends to single clients
}

// session is what a client has chosen.
type session struct {
	endTags context.CancelFunc // nil while there are none
	tagsEnd chan struct{}      // closed when nothing of them is sent any more

	submodels map[string]*sending // by id
}

// sending is what a client is sent until it is ended.
type sending struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when nothing of it is sent any more
}

const (
	// ConsoleMessageBytes is what signalr.Options.MaxMessageBytes must be at least for the names of [MaxConsoleTags] tags of usual lengths.
	ConsoleMessageBytes = 256 << 10
	// consoleQueue is how many bytes may wait for a client before nothing more is sent to it: what is new meanwhile is sent then.
	consoleQueue = 64 << 10
)

// ConsoleOptions configure a [Console]. The zero value works.
type ConsoleOptions struct {
	Submodels LiveSubmodels // default: none, and the method Submodel fails
	Logger    *slog.Logger  // default: discards
}

// NewConsole returns a Console. Its Run must be called.
func NewConsole(live LiveTags, journal ConsoleJournal, o ConsoleOptions) (*Console, error) {
	switch {
	case live == nil:
		return nil, errors.New("hubs: NewConsole: tags are nil")
	case journal == nil:
		return nil, errors.New("hubs: NewConsole: journal is nil")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Console{tags: live, submodels: o.Submodels, feed: newAlarmFeed(journal, o.Logger), sessions: make(map[*signalr.Client]*session)}, nil
}

// Methods returns the methods that clients invoke.
//
//   - Tags(names, throttleMs) replaces the tags whose values the client is sent, and returns {"unknown": [names]}. The client gets "tags"
//     with an array of {"name", "value", "quality", "qualityReason", "timestamp"}: first the current values, then for each tag only the
//     newest one, at most once in throttleMs, 50..3,600,000. There are at most [MaxConsoleTags] names; none ends it.
//   - Submodel(id, throttleMs) sends the client the live values of a submodel too, 0 ends it. The client gets "submodel" with {"id",
//     "complete", "values": [{"path", "tagName", "value", "quality", "qualityReason", "timestamp"}]}: first all live Properties, then those
//     that changed, at most once in throttleMs, 50..3,600,000. If the submodel was changed, all come again; if it was removed, "removed"
//     is true, and nothing more comes. There are at most [MaxConsoleSubmodels]. It fails if there is no such submodel.
//   - Alarms(since) sends the client what happens to alarms behind a position, "" for the present, and returns {"position"}. The client
//     gets "alarms" with {"position", "items": [{"position", "kind", "at", "by", "comment", "code", "until", "alarm"}]}. If the position is
//     gone, it fails with [ErrPositionGone].
//   - Ping() returns null: the client learns in moments that the connection is dead or the engine stands still.
func (c *Console) Methods() map[string]signalr.Method {
	return map[string]signalr.Method{"Tags": c.chooseTags, "Submodel": c.chooseSubmodel, "Alarms": c.followAlarms, "Ping": ping}
}

// ping is the method Ping.
func ping(_ context.Context, _ *signalr.Client, args signalr.Arguments) (any, error) {
	return nil, args.Into()
}

// Run sends until ctx ends. It must be called once.
func (c *Console) Run(ctx context.Context) {
	c.feed.run(ctx)
	c.mu.Lock()
	c.stopped = true
	for _, s := range c.sessions {
		if s.endTags != nil {
			s.endTags()
		}
		for _, one := range s.submodels {
			one.cancel()
		}
	}
	c.mu.Unlock()
	c.running.Wait()
}

// session returns that of a client; it ends with the connection. c.mu is held.
func (c *Console) session(client *signalr.Client) (*session, error) {
	if c.stopped {
		return nil, ErrStopping
	}
	s := c.sessions[client]
	if s == nil {
		s = &session{}
		c.sessions[client] = s
		context.AfterFunc(client.Context(), func() { // which ends what it is sent
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.sessions, client)
		})
	}
	return s, nil
}

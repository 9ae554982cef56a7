package busstore

import (
	"cmp"
	"embed"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the table of messages.
func Schema() storage.Schema {
	return storage.Schema{Name: "bus", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "bus_messages", Key: "engine, seq", Transient: true},
	}}
}

// Options configure a Bus. The zero Options works.
type Options struct {
	NewID  func() string    // id of the session; default: UUIDv7
	Now    func() time.Time // of Status.Since; default time.Now
	Logger *slog.Logger     // default: discards

	retention, trimDelay time.Duration // shorter in tests
}

func (o Options) withDefaults() Options {
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.retention = cmp.Or(o.retention, retention)
	o.trimDelay = cmp.Or(o.trimDelay, trimDelay)
	return o
}

const (
	timeout      = 2 * time.Second        // of a statement: what is not done by then is given up
	pollInterval = 250 * time.Millisecond // without notifications
	lookInterval = time.Second            // with them, to notice that the database has gone
	retryDelay   = 500 * time.Millisecond // after a failure
	writeDelay   = 5 * time.Millisecond   // between two statements that write, so that many messages share one

	retention  = time.Minute      // of messages
	trimDelay  = 10 * time.Second // between two removals of old ones
	maxRequest = time.Minute      // how long a request waits for whoever serves it

	// What may wait to be written. While more would, Publish and Request return bus.ErrDown.
	maxQueued      = 1 << 14
	maxQueuedBytes = 16 << 20
	// One statement writes so much at most.
	maxRows  = 1000
	maxBytes = 4 << 20
)

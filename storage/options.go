package storage

import (
	"log/slog"
	"time"
)

// Options are the settings that do not depend on the kind of database. The zero Options works.
type Options struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discard

	// OnQuery is called after every transaction with its purpose, such as accounts.add, how long its caller waited,
	// and its error. It is called from many goroutines and must return immediately.
	OnQuery func(op string, d time.Duration, err error)

	// NoMigrate leaves the tables as they are, for a command beside a running engine: they must have exactly this
	// program's versions, or Open returns ErrNewer, ErrOlder or ErrNoTables.
	NoMigrate bool

	// NoMaintenance leaves background work to another process: watching the free space of the disk, and what stores
	// do by themselves. It is for commands beside an engine. NoMigrate and ForRestore imply it.
	NoMaintenance bool

	// ForRestore opens a database whatever tables it has, for [Restore] and nothing else: Restore makes the tables
	// in the transaction that fills them, so that a restore that fails leaves none.
	ForRestore bool

	MaxGroup   int // writes in one transaction, 1..10000, default 256
	MaxPending int // queued writes, 1..100000, default 1024; beyond it callers block

	// Space is the disk of an embedded database. While less than MinFree bytes of it are free, the oldest history is
	// removed; Reserve bytes are kept for accounts, alarms and configuration, half of them for vital writes only.
	Space   Space
	MinFree int64 // default a twentieth of the disk, at most 1 GiB; negative: history is never removed for space
	Reserve int64 // default a fiftieth of the disk, at most 64 MiB; negative: none
}

// withDefaults sets the defaults and validates the options.
func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, n := range []struct {
		name          string
		value         *int
		min, max, def int
	}{
		{"MaxGroup", &o.MaxGroup, 1, 10_000, 256},
		{"MaxPending", &o.MaxPending, 1, 100_000, 1024},
	} {
		if *n.value == 0 {
			*n.value = n.def
		}
		if *n.value < n.min || *n.value > n.max {
			return o, ErrOption.Because("%s must be %d to %d, not %d", n.name, n.min, n.max, *n.value)
		}
	}
	o.NoMaintenance = o.NoMaintenance || o.NoMigrate || o.ForRestore
	return o, nil
}

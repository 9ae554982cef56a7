package devices

import (
	"context"
	"time"
)

// Store keeps devices and the journal of commands. Implementations are safe for concurrent use, by several processes too. What a
// method has returned without an error is durable. Package devicestest has the suite for them.
type Store interface {
	// AddDevice stores a device, or returns [ErrExists].
	AddDevice(ctx context.Context, d Device) error
	// UpdateDevice stores what change makes of a device, or returns [ErrNotFound]. change may be called more than once, with fresh
	// values; its error ends the call and is returned. ID, TenantID and CreatedAt do not change.
	UpdateDevice(ctx context.Context, id string, change func(*Device) error) error
	// UpdateDevices stores what change makes of devices, all of them or none. Ids that are unknown are skipped. The rules of
	// UpdateDevice hold.
	UpdateDevices(ctx context.Context, ids []string, change func(*Device)) error
	// Devices returns all devices by id.
	Devices(ctx context.Context) ([]Device, error)

	// AddCommand stores a command unless there is one with its id; it returns the one that is stored, and whether it is new.
	AddCommand(ctx context.Context, r Record) (stored Record, added bool, err error)
	// UpdateCommand replaces Phase, Result, Decision, Path and BeganAt of a command, or returns [ErrNoCommand]. One that has ended is left
	// as it is.
	UpdateCommand(ctx context.Context, r Record) error
	// Commands returns at most q.Limit commands, newest first by IssuedAt and id.
	Commands(ctx context.Context, q CommandQuery) ([]Record, error)
	// LastMoves returns, of each device, the command with a Path that began last, by BeganAt. Those that have Failed are omitted: they
	// do not tell where the device is.
	LastMoves(ctx context.Context) ([]Record, error)
}

// CommandQuery selects commands. A member that is zero selects all.
type CommandQuery struct {
	ID         string
	DeviceID   string
	Unfinished bool      // those that have not ended
	Before     time.Time // issued before
	BeforeID   string    // with Before: or issued at that time with a smaller id
	Limit      int       // 1 or more
}

// Trimmer is a [Store] whose journal can be shortened. One that is none keeps all commands.
type Trimmer interface {
	// TrimCommands removes at most limit commands that were issued before a time and have ended, oldest first, and returns how
	// many it removed.
	TrimCommands(ctx context.Context, before time.Time, limit int) (removed int, err error)
}

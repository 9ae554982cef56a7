package devices

import (
	"context"
	"time"
)

// SharedStore is a [Store] that services with [Options.Shared] have in common.
type SharedStore interface {
	Store
	// Fence returns the same store for an owner with an epoch. Its writes fail with [ErrNotOwner], also those that are under way, once Fence
	// was called with a higher epoch, by whichever process. So does Fence if it was called with a higher one before. Writes that do not go through Fence
	// remain possible.
	Fence(ctx context.Context, epoch uint64) (Store, error)
	// Stops returns the emergency stops that have not ended, in no order.
	Stops(ctx context.Context) ([]Record, error)
}

// guarded is a store that is not written any more once its engine is not the owner.
type guarded struct {
	Store
	stands func() bool
}

// guardedTrimmer is a guarded store that is a [Trimmer].
type guardedTrimmer struct {
	guarded
	trimmer Trimmer
}

// guard returns a store that is written only while stands reports true.
func guard(s Store, stands func() bool) Store {
	g := guarded{s, stands}
	if t, ok := s.(Trimmer); ok {
		return guardedTrimmer{g, t}
	}
	return g
}

func (g guarded) check() error {
	if !g.stands() {
		return ErrNotOwner
	}
	return nil
}

func (g guarded) AddDevice(ctx context.Context, d Device) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.Store.AddDevice(ctx, d)
}

func (g guarded) UpdateDevice(ctx context.Context, id string, change func(*Device) error) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.Store.UpdateDevice(ctx, id, change)
}

func (g guarded) UpdateDevices(ctx context.Context, ids []string, change func(*Device)) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.Store.UpdateDevices(ctx, ids, change)
}

func (g guarded) AddCommand(ctx context.Context, r Record) (Record, bool, error) {
	if err := g.check(); err != nil {
		return Record{}, false, err
	}
	return g.Store.AddCommand(ctx, r)
}

func (g guarded) UpdateCommand(ctx context.Context, r Record) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.Store.UpdateCommand(ctx, r)
}

func (g guardedTrimmer) TrimCommands(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := g.check(); err != nil {
		return 0, err
	}
	return g.trimmer.TrimCommands(ctx, before, limit)
}

package devicestore

import (
	"context"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/storage"
)

// Fence implements [devices.SharedStore]. It does not wait for a process that hangs in a transaction: such a transaction cannot commit afterwards. It has read
// the epoch that the first transaction here changes, and writes what the second one reads.
func (s *Store) Fence(ctx context.Context, epoch uint64) (devices.Store, error) {
	err := s.set.UpdateVital(ctx, "devices.fence", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "UPDATE device_fence SET epoch = ? WHERE id = 1 AND epoch <= ?", int64(epoch), int64(epoch))
		if err == nil && n == 0 {
			err = devices.ErrNotOwner
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.set.UpdateVital(ctx, "devices.fenced", func(ctx context.Context, tx *storage.Tx) error { // serializable, unlike View
		var count int
		if err := tx.Row(ctx, "SELECT count(*) FROM devices", nil, &count); err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT count(*) FROM device_commands WHERE NOT ended", nil, &count)
	})
	if err != nil {
		return nil, err
	}
	return &Store{set: s.set, epoch: epoch}, nil
}

// transaction is [storage.Set.Update] or [storage.Set.UpdateVital].
type transaction func(ctx context.Context, name string, work func(context.Context, *storage.Tx) error) error

// write runs a transaction that writes, unless another engine has become the owner.
func (s *Store) write(ctx context.Context, run transaction, name string, work func(context.Context, *storage.Tx) error) error {
	return run(ctx, name, func(ctx context.Context, tx *storage.Tx) error {
		if err := work(ctx, tx); err != nil || s.epoch == 0 {
			return err
		}
		var epoch int64
		if err := tx.Row(ctx, "SELECT epoch FROM device_fence WHERE id = 1", nil, &epoch); err != nil {
			return err
		}
		if epoch != int64(s.epoch) {
			return devices.ErrNotOwner
		}
		return nil
	})
}

// maxStops is how many emergency stops are read at a time.
const maxStops = 500

// Stops implements [devices.SharedStore].
func (s *Store) Stops(ctx context.Context) (found []devices.Record, err error) {
	err = s.set.View(ctx, "devices.stops", func(ctx context.Context, tx *storage.Tx) error {
		found = nil
		return tx.Each(ctx, "SELECT "+commandColumns+" FROM device_commands WHERE NOT ended AND type = ? LIMIT ?", []any{devices.EmergencyStop, maxStops},
			func(row storage.Scanner) error {
				r, err := scanCommand(row)
				found = append(found, r)
				return err
			})
	})
	return found, err
}

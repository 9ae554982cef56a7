package bindingstore

import (
	"context"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/storage"
)

// SetPosition implements [discovery.Store].
func (s *Store) SetPosition(ctx context.Context, p discovery.Position) error {
	return s.set.Update(ctx, "bridges.position", func(ctx context.Context, tx *storage.Tx) error { return setPosition(ctx, tx, p) })
}

func setPosition(ctx context.Context, tx *storage.Tx, p discovery.Position) error {
	if p.Fence == 0 {
		_, err := tx.Exec(ctx, `INSERT INTO bridge_positions (bridge_id, epoch, position) VALUES (?, ?, ?) ON CONFLICT (bridge_id) DO UPDATE
			SET epoch = excluded.epoch, position = excluded.position
			WHERE bridge_positions.epoch <> excluded.epoch OR bridge_positions.position < excluded.position`, p.BridgeID, p.Epoch, whole(p.Through))
		return err
	}
	n, err := tx.Exec(ctx, "UPDATE bridge_positions SET epoch = ?, position = ? WHERE bridge_id = ? AND fence = ? AND (epoch <> ? OR position < ?)",
		p.Epoch, whole(p.Through), p.BridgeID, whole(p.Fence), p.Epoch, whole(p.Through))
	if err != nil || n > 0 {
		return err
	}
	return inTime(ctx, tx, p.BridgeID, p.Fence)
}

// inTime returns ErrLate if a fence is not that of a bridge.
func inTime(ctx context.Context, tx *storage.Tx, bridgeID string, fence uint64) error {
	if fence == 0 {
		return nil
	}
	is := uint64(0)
	err := tx.Each(ctx, "SELECT fence FROM bridge_positions WHERE bridge_id = ?", []any{bridgeID}, func(row storage.Scanner) error { return row.Scan(&is) })
	if err == nil && is != fence {
		err = discovery.ErrLate.On("bridgeId", bridgeID)
	}
	return err
}

// Claim implements [discovery.SharedStore].
func (s *Store) Claim(ctx context.Context, bridgeID, driverID string, epoch uint64) (b discovery.Binding, err error) {
	err = s.set.UpdateVital(ctx, "bridges.claim", func(ctx context.Context, tx *storage.Tx) (err error) {
		// First the fence: a position that is being stored is then there, or refused.
		n, err := tx.Exec(ctx, `INSERT INTO bridge_positions (bridge_id, epoch, position, fence) VALUES (?, '', 0, ?) ON CONFLICT (bridge_id) DO UPDATE
			SET fence = excluded.fence WHERE bridge_positions.fence <= excluded.fence`, bridgeID, whole(epoch))
		if err != nil {
			return err
		}
		b, err = binding(ctx, tx, bridgeID)
		switch {
		case err != nil:
			return err
		case b.DriverID != driverID:
			return discovery.ErrNotBound.On("bridgeId", bridgeID)
		case n == 0:
			return discovery.ErrLate.On("bridgeId", bridgeID)
		}
		return nil
	})
	if err != nil {
		return discovery.Binding{}, err
	}
	return b, nil
}

// SetHeartbeats implements [discovery.Store].
func (s *Store) SetHeartbeats(ctx context.Context, at map[string]time.Time) error {
	if len(at) == 0 {
		return nil
	}
	return s.set.Update(ctx, "bridges.heartbeats", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "bridge_bindings"); err != nil { // else an UpdateBinding could put the old times back
			return err
		}
		for id, t := range at {
			if _, err := tx.Exec(ctx, "UPDATE bridge_bindings SET heartbeat_us = ? WHERE bridge_id = ?", storage.Timestamp(t), id); err != nil {
				return err
			}
		}
		return changed(ctx, tx)
	})
}

package maintenancestore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/storage"
)

var _ alarmfailures.Positions = (*Store)(nil)

const sharedPosition = "alarms"

// Position implements [alarmfailures.Positions], for a store that one engine uses.
func (s *Store) Position(ctx context.Context) (int64, error) {
	return positions{s.set, sharedPosition}.Position(ctx)
}

// SetPosition implements [alarmfailures.Positions], for a store that one engine uses.
func (s *Store) SetPosition(ctx context.Context, seq int64) error {
	return positions{s.set, sharedPosition}.SetPosition(ctx, seq)
}

// PositionsOf returns the position of one of several engines that use the store. Each records the alarms of its own equipment, and must find
// those that were there while it did not run. A new engine begins where the most advanced one is.
func (s *Store) PositionsOf(engine string) alarmfailures.Positions {
	return positions{s.set, sharedPosition + "/" + storage.Text(engine)}
}

type positions struct {
	set  *storage.Set
	name string
}

// Position implements [alarmfailures.Positions].
func (p positions) Position(ctx context.Context) (seq int64, err error) {
	read := func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, "SELECT seq FROM maintenance_positions WHERE name = ?", []any{p.name}, &seq)
	}
	if err = p.set.View(ctx, "maintenance.position", read); !errors.Is(err, sql.ErrNoRows) {
		return seq, err
	}
	// It is stored at once: what comes while the engine does not run is above it.
	err = p.set.Update(ctx, "maintenance.addPosition", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Row(ctx, "SELECT COALESCE(MAX(seq), 0) FROM maintenance_positions", nil, &seq); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO maintenance_positions (name, seq) VALUES (?, ?) ON CONFLICT DO NOTHING", p.name, seq)
		return err
	})
	return seq, err
}

// SetPosition implements [alarmfailures.Positions].
func (p positions) SetPosition(ctx context.Context, seq int64) error {
	return p.set.Update(ctx, "maintenance.setPosition", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO maintenance_positions (name, seq) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq", p.name, seq)
		return err
	})
}

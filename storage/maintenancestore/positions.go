package maintenancestore

import (
	"context"

	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/storage"
)

var _ alarmfailures.Positions = (*Store)(nil)

// Position implements [alarmfailures.Positions].
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	err = s.set.View(ctx, "maintenance.position", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, "SELECT seq FROM maintenance_positions WHERE name = 'alarms'", nil, &seq)
	})
	return seq, err
}

// SetPosition implements [alarmfailures.Positions].
func (s *Store) SetPosition(ctx context.Context, seq int64) error {
	return s.set.Update(ctx, "maintenance.setPosition", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE maintenance_positions SET seq = ? WHERE name = 'alarms'", seq)
		return err
	})
}

package bindingstore

import (
	"context"
	"encoding/json"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/storage"
)

// changed counts a change. Its row is locked from then on, so that a version is seen no sooner than what it counts.
func changed(ctx context.Context, tx *storage.Tx) error {
	_, err := tx.Exec(ctx, "UPDATE bridge_plant SET version = version + 1 WHERE id = 1")
	return err
}

// PlantID implements [discovery.SharedStore].
func (s *Store) PlantID(ctx context.Context, id string) (plant string, err error) {
	err = s.set.Update(ctx, "bridges.plant", func(ctx context.Context, tx *storage.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE bridge_plant SET plant_id = ? WHERE id = 1 AND plant_id = ''", id); err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT plant_id FROM bridge_plant WHERE id = 1", nil, &plant)
	})
	return plant, err
}

// Version implements [discovery.SharedStore].
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	err = s.set.View(ctx, "bridges.version", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, "SELECT version FROM bridge_plant WHERE id = 1", nil, &version)
	})
	return version, err
}

// Binding implements [discovery.SharedStore].
func (s *Store) Binding(ctx context.Context, bridgeID string) (b discovery.Binding, err error) {
	err = s.set.View(ctx, "bridges.get", func(ctx context.Context, tx *storage.Tx) (err error) {
		b, err = binding(ctx, tx, bridgeID)
		return err
	})
	return b, err
}

// SetReports implements [discovery.SharedStore].
func (s *Store) SetReports(ctx context.Context, reports map[string]discovery.Report) error {
	if len(reports) == 0 {
		return nil
	}
	return s.set.Update(ctx, "bridges.reports", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "bridge_bindings"); err != nil { // the order of the rows is any
			return err
		}
		for id, r := range reports {
			text, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "UPDATE bridge_bindings SET report = ?, report_epoch = ? WHERE bridge_id = ? AND report_epoch <= ?",
				string(text), whole(r.Epoch), id, whole(r.Epoch)); err != nil {
				return err
			}
		}
		return changed(ctx, tx)
	})
}

// SetEngine implements [discovery.SharedStore].
func (s *Store) SetEngine(ctx context.Context, e discovery.Engine) error {
	urls, err := json.Marshal(e.URLs)
	if err != nil {
		return err
	}
	pins, err := json.Marshal(e.Pins)
	if err != nil {
		return err
	}
	return s.set.Update(ctx, "bridges.engine", func(ctx context.Context, tx *storage.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO bridge_engines (engine_id, urls, pins, seen_us) VALUES (?, ?, ?, ?) ON CONFLICT (engine_id) DO UPDATE
			SET urls = excluded.urls, pins = excluded.pins, seen_us = excluded.seen_us`,
			e.ID, string(urls), string(pins), storage.Timestamp(e.SeenAt)); err != nil {
			return err
		}
		return changed(ctx, tx)
	})
}

// Engines implements [discovery.SharedStore].
func (s *Store) Engines(ctx context.Context) (all []discovery.Engine, err error) {
	err = s.set.View(ctx, "bridges.engines", func(ctx context.Context, tx *storage.Tx) error {
		all = nil
		return tx.Each(ctx, "SELECT engine_id, urls, pins, seen_us FROM bridge_engines ORDER BY engine_id", nil, func(row storage.Scanner) error {
			var e discovery.Engine
			var urls, pins string
			if err := row.Scan(&e.ID, &urls, &pins, (*storage.Timestamp)(&e.SeenAt)); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(urls), &e.URLs); err != nil {
				return err
			}
			all = append(all, e)
			return json.Unmarshal([]byte(pins), &all[len(all)-1].Pins)
		})
	})
	return all, err
}

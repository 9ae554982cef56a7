package bindingstore

import (
	"context"
	"embed"
	"encoding/json"
	"math"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of bridges.
func Schema() storage.Schema {
	return storage.Schema{Name: "bridges", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "bridge_bindings", Key: "bridge_id"},
		{Name: "bridge_manifests", Key: "bridge_id"},
		{Name: "bridge_positions", Key: "bridge_id"},
		{Name: "bridge_plant", Key: "id", Seeded: true},
		{Name: "bridge_engines", Key: "engine_id"},
	}}
}

// Store is a [discovery.SharedStore]. Safe for concurrent use, by several processes too.
type Store struct{ set *storage.Set }

var _ discovery.SharedStore = (*Store)(nil)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

const columns = "bridge_id, driver_id, driver_type, engine_id, bound_us, urls, token, session_key, linked_us, heartbeat_us, offline, lost, recently_lost, lost_us, lost_text, driver_down_us, driver_down_text, manifest_hash, tag_count, active_submodels"

func row(b *discovery.Binding) ([]any, error) {
	urls, err := json.Marshal(b.URLs)
	if err != nil {
		return nil, err
	}
	return []any{b.BridgeID, b.DriverID, b.DriverType, b.EngineID, storage.Timestamp(b.BoundAt), string(urls), b.Token, b.Key, storage.Timestamp(b.LinkedAt),
		storage.Timestamp(b.HeartbeatAt), b.Offline, whole(b.Lost), whole(b.RecentlyLost), storage.Timestamp(b.LostAt), b.LostText,
		storage.Timestamp(b.DriverDownAt), b.DriverDownText, b.ManifestHash, b.TagCount, b.ActiveSubmodelsJSON()}, nil
}

// scan reads the columns and the report.
func scan(from storage.Scanner) (b discovery.Binding, err error) {
	var urls, submodels, report string
	err = from.Scan(&b.BridgeID, &b.DriverID, &b.DriverType, &b.EngineID, (*storage.Timestamp)(&b.BoundAt), &urls, &b.Token, &b.Key,
		(*storage.Timestamp)(&b.LinkedAt), (*storage.Timestamp)(&b.HeartbeatAt), &b.Offline, &b.Lost, &b.RecentlyLost, (*storage.Timestamp)(&b.LostAt),
		&b.LostText, (*storage.Timestamp)(&b.DriverDownAt), &b.DriverDownText, &b.ManifestHash, &b.TagCount, &submodels, &report)
	if err == nil {
		err = json.Unmarshal([]byte(urls), &b.URLs)
	}
	if err == nil {
		err = json.Unmarshal([]byte(submodels), &b.ActiveSubmodels)
	}
	if err == nil && report != "" {
		err = json.Unmarshal([]byte(report), &b.Report)
	}
	return b, err
}

// whole returns n as a BIGINT holds it.
func whole(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// AddBinding implements [discovery.Store].
func (s *Store) AddBinding(ctx context.Context, b discovery.Binding, m link.Manifest) error {
	b.TakeManifest(m)
	values, err := row(&b)
	if err != nil {
		return err
	}
	packed, err := pack(m)
	if err != nil {
		return err
	}
	return s.set.Update(ctx, "bridges.add", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "bridge_bindings"); err != nil {
			return err
		}
		var taken error
		err := tx.Each(ctx, "SELECT bridge_id FROM bridge_bindings WHERE bridge_id = ? OR driver_id = ?", []any{b.BridgeID, b.DriverID}, func(row storage.Scanner) error {
			var id string
			err := row.Scan(&id)
			if id == b.BridgeID {
				taken = discovery.ErrAlreadyBound.On("bridgeId", b.BridgeID)
			} else if taken == nil {
				taken = discovery.ErrDriverTaken.On("driverId", b.DriverID)
			}
			return err
		})
		if err != nil || taken != nil {
			if err == nil {
				err = taken
			}
			return err
		}
		if err := tx.Insert(ctx, "INSERT INTO bridge_bindings ("+columns+") VALUES", [][]any{values}, ""); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE bridge_positions SET fence = 0 WHERE bridge_id = ?", b.BridgeID); err != nil {
			return err
		}
		if err := changed(ctx, tx); err != nil {
			return err
		}
		return tx.Insert(ctx, "INSERT INTO bridge_manifests (bridge_id, manifest) VALUES", [][]any{{b.BridgeID, packed}}, "")
	})
}

// UpdateBinding implements [discovery.Store]. On a full disk it uses the reserve for vital writes: keys and losses are small.
func (s *Store) UpdateBinding(ctx context.Context, bridgeID string, change func(*discovery.Binding) error) error {
	return s.set.UpdateVital(ctx, "bridges.update", func(ctx context.Context, tx *storage.Tx) error {
		return update(ctx, tx, bridgeID, change)
	})
}

// UpdateAt implements [discovery.Store].
func (s *Store) UpdateAt(ctx context.Context, p discovery.Position, change func(*discovery.Binding) error) error {
	return s.set.UpdateVital(ctx, "bridges.update", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "bridge_bindings"); err != nil { // an attempt before this one may be about to end
			return err
		}
		err := update(ctx, tx, p.BridgeID, func(b *discovery.Binding) error {
			switch {
			case p.Fence != 0 && p.Fence != b.Fence:
				return discovery.ErrLate.On("bridgeId", p.BridgeID)
			case b.Epoch == p.Epoch && b.Position >= p.Through:
				return nil
			}
			return change(b)
		})
		if err != nil {
			return err
		}
		return setPosition(ctx, tx, p)
	})
}

// update changes a binding.
func update(ctx context.Context, tx *storage.Tx, bridgeID string, change func(*discovery.Binding) error) error {
	if err := tx.Lock(ctx, "bridge_bindings"); err != nil {
		return err
	}
	b, err := binding(ctx, tx, bridgeID)
	if err != nil {
		return err
	}
	if err := change(&b); err != nil {
		return err
	}
	if err := changed(ctx, tx); err != nil {
		return err
	}
	urls, err := json.Marshal(b.URLs)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE bridge_bindings SET bound_us = ?, urls = ?, token = ?, session_key = ?, linked_us = ?, heartbeat_us = ?, offline = ?, lost = ?,
		recently_lost = ?, lost_us = ?, lost_text = ?, driver_down_us = ?, driver_down_text = ? WHERE bridge_id = ?`, storage.Timestamp(b.BoundAt), string(urls), b.Token, b.Key, storage.Timestamp(b.LinkedAt),
		storage.Timestamp(b.HeartbeatAt), b.Offline, whole(b.Lost), whole(b.RecentlyLost), storage.Timestamp(b.LostAt), b.LostText, storage.Timestamp(b.DriverDownAt), b.DriverDownText, bridgeID)
	return err
}

// RemoveBinding implements [discovery.Store]. It works on a full disk too.
func (s *Store) RemoveBinding(ctx context.Context, bridgeID string) error {
	return s.set.UpdateVital(ctx, "bridges.remove", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "DELETE FROM bridge_bindings WHERE bridge_id = ?", bridgeID)
		switch {
		case err != nil:
			return err
		case n == 0:
			return discovery.ErrNotBound.On("bridgeId", bridgeID)
		}
		if _, err = tx.Exec(ctx, "DELETE FROM bridge_manifests WHERE bridge_id = ?", bridgeID); err != nil {
			return err
		}
		return changed(ctx, tx)
	})
}

// binding reads a binding with its position.
func binding(ctx context.Context, tx *storage.Tx, bridgeID string) (b discovery.Binding, err error) {
	found := false
	err = tx.Each(ctx, "SELECT "+columns+", report FROM bridge_bindings WHERE bridge_id = ?", []any{bridgeID}, func(row storage.Scanner) (err error) {
		b, err = scan(row)
		found = true
		return err
	})
	switch {
	case err != nil:
		return b, err
	case !found:
		return b, discovery.ErrNotBound.On("bridgeId", bridgeID)
	}
	err = tx.Each(ctx, "SELECT epoch, position, fence FROM bridge_positions WHERE bridge_id = ?", []any{bridgeID}, func(row storage.Scanner) error {
		return row.Scan(&b.Epoch, &b.Position, &b.Fence)
	})
	return b, err
}

// Bindings implements [discovery.Store].
func (s *Store) Bindings(ctx context.Context) (all []discovery.Binding, err error) {
	err = s.set.View(ctx, "bridges.list", func(ctx context.Context, tx *storage.Tx) error {
		all = nil
		positions := map[string]discovery.Position{}
		err := tx.Each(ctx, "SELECT bridge_id, epoch, position, fence FROM bridge_positions", nil, func(row storage.Scanner) error {
			var p discovery.Position
			err := row.Scan(&p.BridgeID, &p.Epoch, &p.Through, &p.Fence)
			positions[p.BridgeID] = p
			return err
		})
		if err != nil {
			return err
		}
		return tx.Each(ctx, "SELECT "+columns+", report FROM bridge_bindings", nil, func(row storage.Scanner) error {
			b, err := scan(row)
			p := positions[b.BridgeID]
			b.Epoch, b.Position, b.Fence = p.Epoch, p.Through, p.Fence
			all = append(all, b)
			return err
		})
	})
	sortByID(all)
	return all, err
}

package clusterstore

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of sessions, leases and losses.
func Schema() storage.Schema {
	return storage.Schema{Name: "cluster", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "cluster_sessions", Key: "session_id"},
		{Name: "cluster_leases", Key: "work"},
		{Name: "cluster_losses", Key: "engine_id"},
	}}
}

// Store is a [cluster.Store]. Safe for concurrent use, by several processes too.
type Store struct{ set *storage.Set }

var _ cluster.Store = (*Store)(nil)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

// about is what an engine tells the others, as it is stored.
type about struct {
	Engine   string            `json:"engine"`
	Name     string            `json:"name,omitempty"`
	Host     string            `json:"host,omitempty"`
	URL      string            `json:"url,omitempty"`
	Version  string            `json:"version,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Draining bool              `json:"draining,omitempty"`
	Unable   map[string]string `json:"unable,omitempty"`
	Wants    map[string]uint64 `json:"wants,omitempty"`
}

// encode returns what an engine tells the others as it is stored.
func encode(s *cluster.Session) (string, error) {
	text, err := json.Marshal(about{s.Engine, s.Name, s.Host, s.URL, s.Version, s.Labels, s.Draining, s.Unable, s.Wants})
	return string(text), err
}

// decode sets what encode has of a session with its ID.
func decode(text string, s *cluster.Session) error {
	var a about
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	s.Engine, s.Name, s.Host, s.URL, s.Version, s.Labels = a.Engine, a.Name, a.Host, a.URL, a.Version, a.Labels
	s.Draining, s.Unable, s.Wants = a.Draining, a.Unable, a.Wants
	return nil
}

// Renew implements [cluster.Store]. On a full disk it uses the reserve for vital writes: an engine must not lose its leases there.
func (s *Store) Renew(ctx context.Context, one cluster.Session) error {
	engine, err := encode(&one)
	if err != nil {
		return err
	}
	return s.set.UpdateVital(ctx, "cluster.renew", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "UPDATE cluster_sessions SET beat = ?, engine = ?, since_us = ? WHERE session_id = ? AND beat < ?",
			int64(one.Beat), engine, storage.Timestamp(one.Since), one.ID, int64(one.Beat))
		if err != nil || n > 0 {
			return err
		}
		if one.Beat != 1 {
			return cluster.ErrEnded.On("session", one.ID)
		}
		_, err = tx.Exec(ctx, "INSERT INTO cluster_sessions (session_id, beat, engine, since_us) VALUES (?, ?, ?, ?)",
			one.ID, int64(1), engine, storage.Timestamp(one.Since))
		return err
	})
}

// State implements [cluster.Store].
func (s *Store) State(ctx context.Context) (found cluster.State, err error) {
	err = s.set.View(ctx, "cluster.state", func(ctx context.Context, tx *storage.Tx) error {
		found = cluster.State{}
		err := tx.Each(ctx, "SELECT session_id, beat, engine, since_us FROM cluster_sessions ORDER BY session_id", nil, func(row storage.Scanner) error {
			var one cluster.Session
			var engine string
			if err := row.Scan(&one.ID, &one.Beat, &engine, (*storage.Timestamp)(&one.Since)); err != nil {
				return err
			}
			found.Sessions = append(found.Sessions, one)
			return decode(engine, &found.Sessions[len(found.Sessions)-1])
		})
		if err != nil {
			return err
		}
		err = tx.Each(ctx, "SELECT work, session_id, epoch FROM cluster_leases ORDER BY work", nil, func(row storage.Scanner) error {
			var l cluster.Lease
			err := row.Scan(&l.Work, &l.Session, &l.Epoch)
			found.Leases = append(found.Leases, l)
			return err
		})
		if err != nil {
			return err
		}
		return tx.Each(ctx, "SELECT session_id, beat, engine, since_us, at_us FROM cluster_losses ORDER BY at_us, engine_id", nil, func(row storage.Scanner) error {
			var l cluster.Loss
			var engine string
			if err := row.Scan(&l.ID, &l.Beat, &engine, (*storage.Timestamp)(&l.Since), (*storage.Timestamp)(&l.At)); err != nil {
				return err
			}
			found.Lost = append(found.Lost, l)
			return decode(engine, &found.Lost[len(found.Lost)-1].Session)
		})
	})
	return found, err
}

// End implements [cluster.Store].
func (s *Store) End(ctx context.Context, session string, beat uint64) (ended bool, err error) {
	return s.end(ctx, session, beat, func(context.Context, *storage.Tx) error { return nil })
}

// end ends a session. removed is called if it was there.
func (s *Store) end(ctx context.Context, session string, beat uint64, removed func(context.Context, *storage.Tx) error) (ended bool, err error) {
	err = s.set.UpdateVital(ctx, "cluster.end", func(ctx context.Context, tx *storage.Tx) error {
		ended = false
		if err := tx.Lock(ctx, "cluster_leases"); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM cluster_sessions WHERE session_id = ? AND beat <= ?", session, int64(beat))
		if err == nil && n > 0 {
			err = removed(ctx, tx)
		}
		if err != nil {
			return err
		}
		there, err := has(ctx, tx, session)
		if err != nil || there {
			return err
		}
		ended = true
		_, err = tx.Exec(ctx, "UPDATE cluster_leases SET session_id = '' WHERE session_id = ?", session)
		return err
	})
	return ended && err == nil, err
}

// Lose implements [cluster.Store].
func (s *Store) Lose(ctx context.Context, one cluster.Session, at time.Time) (ended bool, err error) {
	engine, err := encode(&one)
	if err != nil {
		return false, err
	}
	return s.end(ctx, one.ID, one.Beat, func(ctx context.Context, tx *storage.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO cluster_losses (engine_id, session_id, beat, engine, since_us, at_us) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (engine_id) DO UPDATE
			SET session_id = excluded.session_id, beat = excluded.beat, engine = excluded.engine, since_us = excluded.since_us, at_us = excluded.at_us`,
			one.Engine, one.ID, int64(one.Beat), engine, storage.Timestamp(one.Since), storage.Timestamp(at)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM cluster_losses WHERE engine_id NOT IN (SELECT engine_id FROM cluster_losses ORDER BY at_us DESC, engine_id DESC LIMIT ?)", cluster.MaxLost)
		return err
	})
}

// Forget implements [cluster.Store].
func (s *Store) Forget(ctx context.Context, session string) error {
	return s.set.UpdateVital(ctx, "cluster.forget", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM cluster_losses WHERE session_id = ?", session)
		return err
	})
}

// has reports whether a session is there.
func has(ctx context.Context, tx *storage.Tx, session string) (there bool, err error) {
	err = tx.Each(ctx, "SELECT beat FROM cluster_sessions WHERE session_id = ?", []any{session}, func(row storage.Scanner) error {
		there = true
		var beat int64
		return row.Scan(&beat)
	})
	return there, err
}

// Claim implements [cluster.Store].
func (s *Store) Claim(ctx context.Context, session string, works []string) (claimed []cluster.Lease, err error) {
	rows := make([][]any, len(works))
	for i, work := range works {
		rows[i] = []any{work, session, int64(1)}
	}
	err = s.set.UpdateVital(ctx, "cluster.claim", func(ctx context.Context, tx *storage.Tx) error {
		claimed = nil
		if err := tx.Lock(ctx, "cluster_leases"); err != nil {
			return err
		}
		there, err := has(ctx, tx, session)
		switch {
		case err != nil:
			return err
		case !there:
			return cluster.ErrEnded.On("session", session)
		}
		return tx.InsertReturning(ctx, "INSERT INTO cluster_leases (work, session_id, epoch) VALUES", rows, `ON CONFLICT (work) DO UPDATE
			SET session_id = excluded.session_id, epoch = cluster_leases.epoch + 1 WHERE cluster_leases.session_id = ''
			RETURNING work, epoch`, func(row storage.Scanner) error {
			l := cluster.Lease{Session: session}
			err := row.Scan(&l.Work, &l.Epoch)
			claimed = append(claimed, l)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// Release implements [cluster.Store].
func (s *Store) Release(ctx context.Context, session string, works []string, successor string) error {
	keys := make([]any, len(works))
	for i, work := range works {
		keys[i] = work
	}
	return s.set.UpdateVital(ctx, "cluster.release", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "cluster_leases"); err != nil {
			return err
		}
		to, rise := "", 0
		there, err := has(ctx, tx, successor)
		if err != nil {
			return err
		}
		if there {
			to, rise = successor, 1
		}
		for marks, part := range storage.InLists(keys) {
			if _, err := tx.Exec(ctx, "UPDATE cluster_leases SET session_id = ?, epoch = epoch + ? WHERE session_id = ? AND work IN "+marks,
				append([]any{to, rise, session}, part...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

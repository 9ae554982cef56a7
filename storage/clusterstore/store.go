package clusterstore

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of sessions and leases.
func Schema() storage.Schema {
	return storage.Schema{Name: "cluster", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "cluster_sessions", Key: "session_id"},
		{Name: "cluster_leases", Key: "work"},
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

// Renew implements [cluster.Store]. On a full disk it uses the reserve for vital writes: an engine must not lose its leases there.
func (s *Store) Renew(ctx context.Context, one cluster.Session) error {
	engine, err := json.Marshal(about{one.Engine, one.Name, one.Host, one.URL, one.Version, one.Labels, one.Draining, one.Unable, one.Wants})
	if err != nil {
		return err
	}
	return s.set.UpdateVital(ctx, "cluster.renew", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "UPDATE cluster_sessions SET beat = ?, engine = ?, since_us = ? WHERE session_id = ? AND beat < ?",
			int64(one.Beat), string(engine), storage.Timestamp(one.Since), one.ID, int64(one.Beat))
		if err != nil || n > 0 {
			return err
		}
		if one.Beat != 1 {
			return cluster.ErrEnded.On("session", one.ID)
		}
		_, err = tx.Exec(ctx, "INSERT INTO cluster_sessions (session_id, beat, engine, since_us) VALUES (?, ?, ?, ?)",
			one.ID, int64(1), string(engine), storage.Timestamp(one.Since))
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
			var a about
			if err := json.Unmarshal([]byte(engine), &a); err != nil {
				return fmt.Errorf("session %s: %w", one.ID, err)
			}
			one.Engine, one.Name, one.Host, one.URL, one.Version, one.Labels = a.Engine, a.Name, a.Host, a.URL, a.Version, a.Labels
			one.Draining, one.Unable, one.Wants = a.Draining, a.Unable, a.Wants
			found.Sessions = append(found.Sessions, one)
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Each(ctx, "SELECT work, session_id, epoch FROM cluster_leases ORDER BY work", nil, func(row storage.Scanner) error {
			var l cluster.Lease
			err := row.Scan(&l.Work, &l.Session, &l.Epoch)
			found.Leases = append(found.Leases, l)
			return err
		})
	})
	return found, err
}

// End implements [cluster.Store].
func (s *Store) End(ctx context.Context, session string, beat uint64) (ended bool, err error) {
	err = s.set.UpdateVital(ctx, "cluster.end", func(ctx context.Context, tx *storage.Tx) error {
		ended = false
		if err := tx.Lock(ctx, "cluster_leases"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM cluster_sessions WHERE session_id = ? AND beat = ?", session, int64(beat)); err != nil {
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

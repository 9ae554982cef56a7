package auditstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of the audit log.
func Schema() storage.Schema {
	return storage.Schema{Name: "audit", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "audit_chain", Key: "id"},
		{Name: "audit_entries", Key: "seq"},
	}}
}

// Store is an [audit.Store]. Safe for concurrent use, by several processes too.
type Store struct{ set *storage.Set }

var (
	_ audit.Store    = (*Store)(nil)
	_ audit.Admitter = (*Store)(nil)
)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

const columns = "seq, at_us, intent, actor, principal, role, session, address, via, action, objects, old_values, new_values, outcome, code, detail, hash"

// Admit implements [audit.Admitter]: on a full disk the rest of the reserve is for sessions, alarms and acknowledgements.
func (s *Store) Admit() error { return s.set.Admit() }

// Append implements [audit.Store]. Outcomes and events may use all of the reserve of a full disk, intents half of it.
func (s *Store) Append(ctx context.Context, entries []audit.Entry) (first int64, err error) {
	update := s.set.UpdateVital
	if slices.ContainsFunc(entries, func(e audit.Entry) bool { return e.Outcome == "" }) {
		update = s.set.Update
	}
	err = update(ctx, "audit.append", func(ctx context.Context, tx *storage.Tx) error {
		_, head, err := lockEnds(ctx, tx)
		if err != nil {
			return err
		}
		first = head.Seq + 1
		return appendTo(ctx, tx, head, entries)
	})
	return first, err
}

// lockEnds keeps other appends waiting until the transaction ends, and returns the ends of the chain.
func lockEnds(ctx context.Context, tx *storage.Tx) (anchor, head audit.Link, err error) {
	if err := tx.Lock(ctx, "audit_chain"); err != nil {
		return audit.Link{}, audit.Link{}, err
	}
	return ends(ctx, tx)
}

func ends(ctx context.Context, tx *storage.Tx) (anchor, head audit.Link, err error) {
	var anchorHash, headHash []byte
	err = tx.Row(ctx, "SELECT anchor_seq, anchor_hash, head_seq, head_hash FROM audit_chain WHERE id = 1", nil,
		&anchor.Seq, &anchorHash, &head.Seq, &headHash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return audit.Link{}, audit.Link{}, nil // nothing was appended yet
	case err != nil:
		return audit.Link{}, audit.Link{}, err
	}
	copy(anchor.Hash[:], anchorHash)
	copy(head.Hash[:], headHash)
	return anchor, head, nil
}

func appendTo(ctx context.Context, tx *storage.Tx, head audit.Link, entries []audit.Entry) error {
	rows := make([][]any, len(entries))
	for i, e := range entries {
		e = e.Seal(head)
		head = e.Link()
		rows[i] = row(e)
	}
	if err := tx.Insert(ctx, "INSERT INTO audit_entries ("+columns+") VALUES", rows, ""); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO audit_chain (id, anchor_seq, anchor_hash, head_seq, head_hash) VALUES (1, 0, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET head_seq = excluded.head_seq, head_hash = excluded.head_hash`,
		make([]byte, len(audit.Hash{})), head.Seq, head.Hash[:])
	return err
}

func row(e audit.Entry) []any {
	var intent *int64
	if e.Intent != 0 {
		intent = &e.Intent
	}
	objects := ""
	if len(e.Objects) > 0 {
		objects = "\n" + strings.Join(e.Objects, "\n") + "\n"
	}
	return []any{e.Seq, e.Time.UnixMicro(), intent, e.Actor, e.Principal, e.Role, e.Session, e.Address, e.Via, e.Action, objects, e.Before, e.After,
		string(e.Outcome), e.Code, e.Detail, e.Hash[:]}
}

// scanEntry reads the columns, and further ones.
func scanEntry(row storage.Scanner, e *audit.Entry, further ...any) error {
	var at int64
	var intent *int64
	var objects string
	var hash []byte
	err := row.Scan(append([]any{&e.Seq, &at, &intent, &e.Actor, &e.Principal, &e.Role, &e.Session, &e.Address, &e.Via, &e.Action, &objects,
		&e.Before, &e.After, (*string)(&e.Outcome), &e.Code, &e.Detail, &hash}, further...)...)
	if err != nil {
		return err
	}
	e.Time = time.UnixMicro(at).UTC()
	if intent != nil {
		e.Intent = *intent
	}
	if objects != "" { // only the outermost line feeds go: an object may be empty
		e.Objects = strings.Split(strings.TrimSuffix(strings.TrimPrefix(objects, "\n"), "\n"), "\n")
	}
	copy(e.Hash[:], hash)
	return nil
}

// Entries implements [audit.Store].
func (s *Store) Entries(ctx context.Context, after int64, limit int) (page []audit.Entry, err error) {
	err = s.set.View(ctx, "audit.entries", func(ctx context.Context, tx *storage.Tx) error {
		page = nil
		return tx.Each(ctx, "SELECT "+columns+" FROM audit_entries WHERE seq > ? ORDER BY seq LIMIT ?", []any{after, limit}, func(row storage.Scanner) error {
			var e audit.Entry
			err := scanEntry(row, &e)
			page = append(page, e)
			return err
		})
	})
	return page, err
}

// Ends implements [audit.Store].
func (s *Store) Ends(ctx context.Context) (anchor, head audit.Link, err error) {
	err = s.set.View(ctx, "audit.ends", func(ctx context.Context, tx *storage.Tx) error {
		anchor, head, err = ends(ctx, tx)
		return err
	})
	return anchor, head, err
}

// Trim implements [audit.Store].
func (s *Store) Trim(ctx context.Context, cut audit.Cut, notice func(int64, audit.Link) audit.Entry) (removed int64, err error) {
	err = s.set.UpdateVital(ctx, "audit.trim", func(ctx context.Context, tx *storage.Tx) error {
		removed = 0
		anchor, head, err := lockEnds(ctx, tx)
		if err != nil {
			return err
		}
		last, err := lastRemoved(ctx, tx, cut, anchor, head)
		if err != nil || last <= anchor.Seq {
			return err
		}
		var hash []byte
		if err := tx.Row(ctx, "SELECT hash FROM audit_entries WHERE seq = ?", []any{last}, &hash); err != nil {
			return fmt.Errorf("audit entry %d: %w", last, err)
		}
		moved := audit.Link{Seq: last}
		copy(moved.Hash[:], hash)
		if removed, err = tx.Exec(ctx, "DELETE FROM audit_entries WHERE seq <= ?", last); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE audit_chain SET anchor_seq = ?, anchor_hash = ? WHERE id = 1", moved.Seq, moved.Hash[:]); err != nil {
			return err
		}
		return appendTo(ctx, tx, head, []audit.Entry{notice(removed, moved)})
	})
	return removed, err
}

// lastRemoved returns the number of the last entry that a cut removes.
func lastRemoved(ctx context.Context, tx *storage.Tx, cut audit.Cut, anchor, head audit.Link) (int64, error) {
	last := min(head.Seq-1, anchor.Seq+cut.Max)
	beyond := anchor.Seq // entries up to here are beyond the number to keep
	if cut.Keep > 0 {
		beyond = max(beyond, head.Seq-cut.Keep)
	}
	if cut.Before.IsZero() {
		return min(last, beyond), nil
	}
	var stays int64
	err := tx.Row(ctx, "SELECT seq FROM audit_entries WHERE seq > ? AND seq <= ? AND at_us >= ? ORDER BY seq LIMIT 1",
		[]any{beyond, last, storage.CeilMicros(cut.Before)}, &stays)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return last, nil
	case err != nil:
		return 0, err
	}
	return stays - 1, nil
}

package storage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// load fills a set's tables. Tables of an earlier version are made as they were then, filled, and brought to the newest
// version.
func (a *stored) load(ctx context.Context, tx *Tx) error {
	if err := mustBeEmpty(ctx, tx); err != nil {
		return err
	}
	for _, s := range tx.set.schemas {
		version := a.versions[s.key()]
		if version == 0 {
			continue // the schema is younger than the archive
		}
		if version < len(s.steps) {
			if err := tx.remake(ctx, s, version); err != nil {
				return err
			}
		}
		if err := a.loadSchema(ctx, tx, s); err != nil {
			return err
		}
		if err := tx.migrateSchema(ctx, s, version, len(s.steps)); err != nil {
			return err
		}
	}
	return nil
}

func (a *stored) loadSchema(ctx context.Context, tx *Tx, s *schema) error {
	for _, t := range s.Tables {
		name := s.member(t)
		if a.members[name] == nil {
			continue // the table is younger than the archive, or transient
		}
		if err := a.read(name, func(r io.Reader) error { return loadTable(ctx, tx, t, r) }); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		if t.Serial == "" {
			continue
		}
		if err := tx.set.dialect.SyncSequence(ctx, tx.tx, t.Name, t.Serial); err != nil {
			return explain(tx.set.dialect, err)
		}
	}
	return nil
}

// loadTable fills a table from its member.
func loadTable(ctx context.Context, tx *Tx, t Table, from io.Reader) error {
	if t.Seeded {
		if _, err := tx.Exec(ctx, "DELETE FROM "+t.Name); err != nil {
			return err
		}
	}
	r := bufio.NewReaderSize(from, 256<<10)
	head, err := r.ReadBytes('\n')
	if err != nil {
		return ErrBadArchive.Because("table %s has no columns", t.Name).Wrap(err)
	}
	var columns []column
	if err := json.Unmarshal(head, &columns); err != nil {
		return ErrBadArchive.Because("the columns of table %s cannot be read", t.Name).Wrap(err)
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || c.Name == "" {
			return ErrBadArchive.Because("table %s has a column %q", t.Name, c.Name)
		}
		names[i] = c.Name
	}
	into := "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") VALUES"
	rows := make([][]any, 0, MaxRows)
	for end := false; !end; {
		line, err := r.ReadBytes('\n')
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return ErrBadArchive.Because("table %s cannot be read", t.Name).Wrap(err)
		}
		if len(line) > 0 {
			row, err := readRow(columns, line)
			if err != nil {
				return ErrBadArchive.Because("a row of table %s cannot be read", t.Name).Wrap(err)
			}
			rows = append(rows, row)
		}
		if len(rows) == cap(rows) || end && len(rows) > 0 {
			if err := tx.Insert(ctx, into, rows, ""); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return nil
}

func readRow(columns []column, line []byte) ([]any, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, err
	}
	if len(raw) != len(columns) || len(raw) == 0 {
		return nil, fmt.Errorf("%d values for %d columns", len(raw), len(columns))
	}
	row := make([]any, len(raw))
	for i, c := range columns {
		var err error
		if row[i], err = readValue(c.Type, raw[i]); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return row, nil
}

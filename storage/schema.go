package storage

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// SetName names one of the two sets of tables. SQLite keeps each set in a file of its own; PostgreSQL keeps both in
// one database.
type SetName string

// The two sets.
const (
	State   SetName = "state"   // acknowledged data: a write returns when it is durable
	History SetName = "history" // samples of tags, as durable
)

// Schema is the tables of one domain. A program passes the schemas that it needs to Open; the database then has
// their tables and no others.
type Schema struct {
	Name   string  // identifies the schema within its set: lower-case letters
	Set    SetName // where the tables are
	Tables []Table // all of them, each after those that it refers to

	// Migrations has a folder "migrations" with the steps that make the tables: files named 0001_what.sql, counted
	// without a gap. A step that was released never changes.
	//
	// The SQL is for every database. {{text}}, {{bytes}}, {{float}}, {{serial}}, {{key}} and {{clustered}} stand for
	// what differs, see [Dialect.Types]. A statement ends with a semicolon at the end of a line.
	Migrations fs.FS

	// Upgrade, if it is set, converts rows that SQL alone cannot convert. It runs after the migrations, at every
	// start and after a restore, and must do nothing when there is nothing left to convert. No other process runs it
	// at the same time.
	Upgrade func(ctx context.Context, s *Set, update Updater) error
}

// Table is a table as backup and restore see it.
type Table struct {
	Name   string
	Key    string // columns that order its rows in a backup
	Serial string // column that the database counts up; empty for none
	Seeded bool   // a migration inserts rows, which a restore replaces

	// Transient rows are worth nothing after moments: a backup omits them, and a restore removes those that are there.
	Transient bool
}

// schema is a Schema whose migrations were read.
type schema struct {
	Schema
	steps []migration
}

// key identifies the schema's version in the database and in a backup.
func (s *schema) key() string { return string(s.Set) + "/" + s.Name }

// member returns the name of a table's member in a backup.
func (s *schema) member(t Table) string { return string(s.Set) + "/" + t.Name + ".jsonl" }

// readSchemas reads the migrations of schemas and checks that the schemas fit together.
func readSchemas(list []Schema) ([]*schema, error) {
	if len(list) == 0 {
		return nil, ErrOption.Because("schemas: at least one is required")
	}
	all := make([]*schema, len(list))
	seen := make(map[string]bool)
	for i, s := range list {
		if s.Name == "" || strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz") != "" {
			return nil, ErrOption.Because("schemas: the name %q must have lower-case letters only", s.Name)
		}
		if s.Set != State && s.Set != History {
			return nil, ErrOption.Because("schema %s: Set must be state or history, not %q", s.Name, s.Set)
		}
		all[i] = &schema{Schema: s}
		names := []string{all[i].key()}
		for _, t := range s.Tables {
			names = append(names, t.Name)
		}
		for _, name := range names {
			if seen[name] {
				return nil, ErrOption.Because("schemas: %s is there twice", name)
			}
			seen[name] = true
		}
		if s.Migrations == nil {
			return nil, ErrOption.Because("schema %s: Migrations is required", s.Name)
		}
		var err error
		if all[i].steps, err = readMigrations(s.Migrations); err != nil {
			return nil, ErrOption.Because("schema %s: Migrations cannot be used", s.Name).Wrap(err)
		}
	}
	return all, nil
}

// migration is one numbered step of a schema.
type migration struct{ name, text string }

func readMigrations(files fs.FS) ([]migration, error) {
	entries, err := fs.ReadDir(files, "migrations")
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		if n, err := strconv.Atoi(number); err != nil || n != len(all)+1 {
			return nil, fmt.Errorf("file %s should have number %d", e.Name(), len(all)+1)
		}
		text, err := fs.ReadFile(files, "migrations/"+e.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, migration{name: e.Name(), text: string(text)})
	}
	return all, nil
}

// statements returns the step's statements in the form of a database.
func (m migration) statements(d Dialect) []string {
	pairs := make([]string, 0, 2*len(d.Types()))
	for name, column := range d.Types() {
		pairs = append(pairs, "{{"+name+"}}", column)
	}
	var all []string
	for part := range strings.SplitSeq(strings.NewReplacer(pairs...).Replace(m.text)+"\n", ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

package engineconfig

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

// Storage is where the engine stores its data.
type Storage struct {
	DataDir string `key:"dataDir" default:"data" rule:"required" doc:"Directory of the keys, the embedded database and the tag configuration."`
	Driver  string `key:"driver" default:"sqlite" rule:"sqlite|postgres" doc:"Database: sqlite is embedded and lies in the data directory."`
	DSN     string `key:"dsn" secret:"url" doc:"Database of postgres, as a URL or in the key=value form of libpq."`
	MinFree int64  `key:"minFree" default:"0" doc:"If fewer bytes than these are free on the disk of the embedded database, the oldest history is removed; 0 for a twentieth of the disk, at most 1 GiB; negative for never."`
	Reserve int64  `key:"reserve" default:"0" doc:"Bytes of a reserve on the disk that is released when the disk is full: half for changes, half for logins, alarms and acknowledgements only; 0 for a fiftieth of the disk, at most 64 MiB; negative for none."`

	MaxConnections int           `key:"maxConnections" default:"16" rule:"4..1000" doc:"Connections to postgres. One more asks whether the server answers."`
	Schema         string        `key:"schema" doc:"Schema of postgres for the tables, created when it is missing; empty for the first of search_path."`
	StartWait      time.Duration `key:"startWait" default:"30s" rule:"0.." doc:"How long the start waits for a postgres that cannot be reached; 0 for not at all."`
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Validate implements settings.Validator.
func (s Storage) Validate(p *settings.Problems) {
	postgres := s.Driver == "postgres"
	if postgres && s.DSN == "" {
		p.Add("dsn", "is needed with the driver postgres")
	}
	if s.Driver == "sqlite" && s.DSN != "" {
		p.Add("dsn", "is for the driver postgres; set storage.driver")
	}
	p.Must(s.Schema == "" || schemaName.MatchString(s.Schema), "schema", "must be a lower-case letter or _, then up to 62 lower-case letters, digits and _")
	if s.Schema != "" && !postgres {
		p.Add("schema", "is for the driver postgres")
	}
}

// Open opens the database with the tables of the schemas. wait is how long it waits for a server that cannot be reached.
func (s Storage) Open(ctx context.Context, o storage.Options, wait time.Duration, schemas ...storage.Schema) (*storage.DB, error) {
	o.MinFree, o.Reserve = s.MinFree, s.Reserve
	if s.Driver == "postgres" {
		db, err := postgres.Open(ctx, postgres.Options{Options: o, DSN: s.DSN, MaxConns: s.MaxConnections, Schema: s.Schema, Wait: wait}, schemas...)
		if err != nil {
			return nil, fmt.Errorf("PostgreSQL: %w", err)
		}
		return db, nil
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Options: o, Dir: s.DataDir}, schemas...)
	if err != nil {
		return nil, fmt.Errorf("database in %s: %w", s.DataDir, err)
	}
	return db, nil
}

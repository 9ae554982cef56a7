package tagstore

import (
	"embed"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the table of the write log.
func Schema() storage.Schema {
	return storage.Schema{Name: "tags", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "tag_writes", Key: "id"},
	}}
}

// Store keeps the log of writes to tags. Safe for concurrent use.
type Store struct{ set *storage.Set }

var _ tags.WriteLog = (*Store)(nil)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

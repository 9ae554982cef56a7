package accountstore

import (
	"embed"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of accounts, sessions and the public keys of engines.
func Schema() storage.Schema {
	return storage.Schema{Name: "accounts", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "accounts", Key: "name_key"},
		{Name: "sessions", Key: "id"},
		{Name: "engine_keys", Key: "id"},
	}}
}

// Store stores accounts, their sessions and the public keys of engines. Safe for concurrent use.
type Store struct{ set *storage.Set }

var (
	_ accounts.Store        = (*Store)(nil)
	_ accounts.SessionStore = (*Store)(nil)
	_ accounts.KeyStore     = (*Store)(nil)
)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

package modelstore

import (
	"embed"
	"log/slog"
	"sync"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of models and trainings.
func Schema() storage.Schema {
	return storage.Schema{Name: "models", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "predictive_versions", Key: "model_type"},
		{Name: "predictive_models", Key: "model_type, version"},
		{Name: "predictive_model_parts", Key: "model_type, version, part"},
		{Name: "predictive_jobs", Key: "id"},
	}}
}

// Options are the options of [New]. The zero value works.
type Options struct {
	// Keep is how many versions of each type Put leaves, beside the one that serves; see package predictive/registry for which. Default 10, negative: all.
	Keep   int
	Logger *slog.Logger // default: discards
}

// Store keeps models and trainings. Safe for concurrent use, by several processes too.
type Store struct {
	set *storage.Set
	o   Options

	mu      sync.Mutex
	serving map[predictive.ModelType]model          // the last that served
	damaged map[predictive.ModelType]map[int]string // what is wrong, by version
}

var (
	_ predictive.Registry  = (*Store)(nil)
	_ predictive.Inspector = (*Store)(nil)
	_ predictive.JobStore  = (*Store)(nil)
)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB, o Options) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	if o.Keep == 0 {
		o.Keep = 10
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store{set: set, o: o, serving: map[predictive.ModelType]model{}, damaged: map[predictive.ModelType]map[int]string{}}, nil
}

package alertstore

import (
	"embed"

	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of silences, of the history of alerts and of the outbox.
func Schema() storage.Schema {
	return storage.Schema{Name: "alerts", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "alert_silences", Key: "id"},
		{Name: "alert_sources", Key: "id"},
		{Name: "alert_records", Key: "id"},
		{Name: "alert_ends", Key: "alarm"},
		{Name: "alert_blocks", Key: "low_us, low_id"},
		{Name: "alert_cursor", Key: "id", Seeded: true},
		{Name: "alert_deliveries", Key: "id"},
		{Name: "alert_posts", Key: "seq", Serial: "seq"}, // not written any more; backups of earlier versions have it
	}}
}

// Store keeps silences, the history of alerts and the outbox. Safe for concurrent use.
type Store struct{ set *storage.Set }

var (
	_ silences.Store        = (*Store)(nil)
	_ history.Complete      = (*Store)(nil)
	_ outbox.Store          = (*Store)(nil)
	_ outbox.DeadLetters    = (*Store)(nil)
	_ outbox.DigestSplitter = (*Store)(nil)
	_ outbox.DigestReader   = (*Store)(nil)
	_ outbox.Cleaner        = (*Store)(nil)
	_ outbox.SentLister     = (*Store)(nil)
	_ outbox.ClaimReleaser  = (*Store)(nil)
)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"

	"github.com/otkit/otkit/storage"
)

// Files opens databases of one file each for packages that keep something of their own, such as storage/bufferstore.
type Files struct{}

// OpenFile opens a database in a file, or makes it, with one connection. A commit survives a loss of power. The file cannot be opened
// again while it is open. The write-ahead log keeps about walPages pages of 4 KiB. Space of deleted rows is given back by incremental_vacuum only.
func (Files) OpenFile(file string, walPages int) (*sql.DB, error) {
	if err := touch(file); err != nil {
		return nil, err
	}
	// The order counts: the log needs no shared index once the lock is exclusive, and vacuum is set before anything is written.
	return pool(file, url.Values{"_dqs": {"0"}, "_txlock": {"immediate"}}, url.Values{"_pragma": {
		"busy_timeout(1000)", "locking_mode(EXCLUSIVE)", "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(FULL)",
		"cache_size(-512)", fmt.Sprintf("wal_autocheckpoint(%d)", walPages), fmt.Sprintf("journal_size_limit(%d)", walPages*pageBytes),
	}}, 1)
}

// Classify returns what an error of a database that OpenFile has opened means.
func (Files) Classify(err error) storage.ErrorClass { return dialect{}.Classify(err) }

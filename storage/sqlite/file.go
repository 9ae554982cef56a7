package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"

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
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	// The driver runs busy_timeout first and the others in alphabetical order, hence main: the lock must be exclusive before anything reads the
	// file, so that the log needs no index shared with others.
	pragmas := []string{
		"busy_timeout(1000)", "locking_mode(EXCLUSIVE)", "main.cache_size(-512)", "main.journal_mode(WAL)",
		fmt.Sprintf("main.journal_size_limit(%d)", walPages*pageBytes), "main.synchronous(FULL)", fmt.Sprintf("main.wal_autocheckpoint(%d)", walPages),
	}
	if info.Size() == 0 { // later it would write, which a full disk does not allow
		pragmas = append(pragmas, "main.auto_vacuum(INCREMENTAL)")
	}
	return pool(file, url.Values{"_dqs": {"0"}, "_txlock": {"immediate"}}, url.Values{"_pragma": pragmas}, 1)
}

// Classify returns what an error of a database that OpenFile has opened means.
func (Files) Classify(err error) storage.ErrorClass { return dialect{}.Classify(err) }

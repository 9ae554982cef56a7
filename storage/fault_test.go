package storage_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/storage/tagstore"
	"github.com/otkit/otkit/tags"
	taghistory "github.com/otkit/otkit/tags/history"
)

// childEnv tells the test binary to be the process that is killed: it says kind and place of the
// database.
const childEnv = "OTKIT_STORAGE_CHILD"

// child writes and appends for ever and says on its standard output what was acknowledged.
func child() {
	kind, place, ok := strings.Cut(os.Getenv(childEnv), " ")
	if !ok {
		return
	}
	ctx := context.Background()
	history := historystore.Options{CompactSamples: 1000}
	var (
		db  *storetest.DB
		err error
	)
	if kind == "sqlite" {
		db, err = storetest.TrySQLite(place)(ctx, storage.Options{}, history)
	} else {
		db, err = storetest.TryPostgres(place)(ctx, storage.Options{}, history)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for w := range 4 {
		go func() {
			for i := w; ; i += 4 {
				if err := db.Writes().Put(ctx, []tags.Write{storetest.OneWrite(i)}); err != nil {
					os.Exit(1)
				}
				fmt.Printf("w %d\n", i)
			}
		}()
	}
	for i := 0; ; i++ {
		batch := make([]taghistory.Sample, 100)
		for j := range batch {
			batch[j] = taghistory.Sample{Tag: "t" + strconv.Itoa(j%7), Time: storetest.When.Add(time.Duration(i*100+j) * time.Second), Value: tags.IntValue(int64(i))}
		}
		if err := db.History().Append(ctx, batch); err != nil {
			os.Exit(1)
		}
		fmt.Printf("h %d\n", i)
	}
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			place := t.TempDir()
			if kind == "postgres" {
				place = pgtest.DSN(t)
			}
			for round := range 2 {
				writes, batches := killedChild(t, kind, place, 300*(round+1))
				open := func() *storetest.DB { return storetest.OpenSQLite(t, place, storage.Options{}) }
				if kind == "postgres" {
					open = func() *storetest.DB { return storetest.OpenPostgres(t, place, storage.Options{}) }
				}
				db := open()
				for _, i := range writes {
					require.True(t, stored(t, db, storetest.OneWrite(i).ID), "write %d", i)
				}
				count := 0
				for j := range 7 {
					count += len(storetest.Samples(t, db.History(), "t"+strconv.Itoa(j)))
				}
				require.GreaterOrEqual(t, count, 100*len(batches))
				require.NoError(t, db.History().Compact(t.Context()))
				require.NoError(t, db.Close())
			}
		})
	}
}

// killedChild runs the child until it has said so many lines, kills it, and gives what it said.
func killedChild(t *testing.T, kind, place string, lines int) (writes, batches []int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+kind+" "+place)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	scanner := bufio.NewScanner(out)
	for n := 0; scanner.Scan(); n++ {
		what, number, _ := strings.Cut(scanner.Text(), " ")
		i, err := strconv.Atoi(number)
		if err != nil {
			continue // the last line may be torn
		}
		if what == "w" {
			writes = append(writes, i)
		} else {
			batches = append(batches, i)
		}
		if n == lines {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait())
	require.GreaterOrEqual(t, len(writes)+len(batches), lines, "%s", stderr.String())
	return writes, batches
}

func TestAFullDiskIsSaidAndReadingGoesOn(t *testing.T) {
	db := storetest.OnSQLite(t)(t, storage.Options{})
	require.NoError(t, db.Update(t.Context(), "test", put("before")))
	limit := func(pages int) {
		_, err := db.StatePool().ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		require.NoError(t, err)
	}
	limit(40)
	big := func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO tag_writes (id, tag, value_type, value, written_by, state, error, confirm)
			VALUES ('big', 't', '', ?, 'b', 'Written', '', ?)`, make([]byte, 1<<20), false)
		return err
	}
	errs := together(t, db, put("a"), big, put("b"))
	require.NoError(t, errs[0], "a small write in the group of one that does not fit")
	require.ErrorIs(t, errs[1], storage.ErrFull)
	require.Equal(t, fault.Unavailable, fault.KindOf(errs[1]))
	require.NoError(t, errs[2])
	for _, id := range []string{"before", "a", "b"} {
		require.True(t, stored(t, db, id), id)
	}
	require.False(t, stored(t, db, "big"))
	limit(100_000)
	require.NoError(t, db.Update(t.Context(), "test", big), "when there is room again")
}

func TestAFullServerIsSaid(t *testing.T) {
	db := storetest.OnPostgres(t)(t, storage.Options{})
	err := db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$")
		return err
	})
	require.ErrorIs(t, err, storage.ErrFull)
}

func TestMigrationKeepsWhatAnEarlierVersionStored(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			fresh := storetest.Fresh(t, kind)
			open := storetest.Must(fresh())
			db := storetest.Before(t, fresh, 1, 1)
			anna := accounts.Account{Name: "Anna", PasswordHash: "x", Role: accounts.Viewer, CreatedAt: storetest.When, UpdatedAt: storetest.When}
			require.NoError(t, db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO accounts (name_key, name, password_hash, role, created_us, updated_us)
					VALUES ('anna', ?, ?, ?, ?, ?)`, anna.Name, anna.PasswordHash, string(anna.Role), storetest.When.UnixMicro(), storetest.When.UnixMicro())
				return err
			}))
			require.Error(t, db.Writes().Put(t.Context(), []tags.Write{storetest.OneWrite(1)}), "version 1 has no writes")
			require.NoError(t, db.Close())

			db = open(t, storage.Options{})
			got, err := db.Accounts().Account(t.Context(), "anna")
			require.NoError(t, err)
			require.Equal(t, anna, got)
			require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{storetest.OneWrite(1)}))
		})
	}
}

func TestAlarmsComeToADatabaseOfVersion2(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			fresh := storetest.Fresh(t, kind)
			open := storetest.Must(fresh())
			db := storetest.Before(t, fresh, 2, 1)
			want := storetest.OneWrite(1)
			require.NoError(t, db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO tag_writes (id, tag, value_type, value, written_by, state, error, confirm, queued_us)
					VALUES (?, ?, 'Float', ?, ?, 'Written', '', ?, ?)`, want.ID, want.Tag, []byte(want.Value.String()), want.By, false, want.QueuedAt.UnixMicro())
				return err
			}))
			require.Error(t, storetest.RaiseAlarms(t.Context(), db.Alarms(), 1, 1), "version 2 has no alarms")
			require.NoError(t, db.Close())

			db = open(t, storage.Options{})
			got, err := db.Writes().Get(t.Context(), want.ID)
			require.NoError(t, err)
			require.Equal(t, want.Value, got.Value)
			page, err := db.Writes().List(t.Context(), tags.WriteQuery{WriteFilter: tags.WriteFilter{Driver: "press"}, Limit: 10})
			require.NoError(t, err)
			require.Equal(t, []tags.Write{got}, page.Writes)
			usable(t, db)
		})
	}
}

// usable sees that alarms and alerts can be kept.
func usable(t *testing.T, db *storetest.DB) {
	t.Helper()
	require.NoError(t, storetest.RaiseAlarms(t.Context(), db.Alarms(), 1, 1))
	events, err := db.Alarms().Events(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.EqualValues(t, 1, events[0].Seq)
	require.NoError(t, db.AlertHistory().ApplyRecords(t.Context(), history.Changes{Add: storetest.Records(0, 1)}))
	storetest.PlanDeliveries(t, db.Outbox(), 0, 1, storetest.When)
}

func TestABackupOfAnEarlierVersionIsBroughtUp(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		archive := archiveOf(t, 1, "accounts", "sessions")
		db := open(t, storage.Options{})
		require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), db.DB, storage.RestoreOptions{}))
		_, err := db.Accounts().Account(t.Context(), "anna")
		require.NoError(t, err)
		require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{storetest.OneWrite(1)}))
		usable(t, db)
	})
}

func TestABackupWithoutAlarmsIsBroughtUp(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		archive := archiveOf(t, 2, "accounts", "sessions", "tag_writes")
		db := open(t, storage.Options{})
		require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), db.DB, storage.RestoreOptions{}))
		_, err := db.Writes().Get(t.Context(), storetest.OneWrite(1).ID)
		require.NoError(t, err)
		usable(t, db)
	})
}

// archiveOf makes an archive as the program of an earlier version, with these state tables, would have.
func archiveOf(t *testing.T, version int, tables ...string) []byte {
	t.Helper()
	db := storetest.OnSQLite(t)(t, storage.Options{})
	require.NoError(t, db.Accounts().AddAccount(t.Context(), accounts.Account{Name: "anna"}))
	require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{storetest.OneWrite(1)}))
	require.NoError(t, db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "ALTER TABLE accounts DROP COLUMN disabled")
		for _, statement := range []string{"ALTER TABLE accounts DROP COLUMN last_sign_in_us", "DROP INDEX tag_writes_driver",
			"ALTER TABLE tag_writes DROP COLUMN driver", "ALTER TABLE tag_writes DROP COLUMN address"} {
			if err == nil {
				_, err = tx.Exec(ctx, statement)
			}
		}
		return err
	}))
	archive := backupOf(t, db, storage.BackupOptions{})

	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	f, err := z.Open("manifest.json")
	require.NoError(t, err)
	var manifest map[string]any
	require.NoError(t, json.NewDecoder(f).Decode(&manifest))
	manifest["format"], manifest["schema"] = 1, map[string]int{"state": version, "history": 2}
	without := []string{"manifest.json"}
	manifest["members"] = slices.DeleteFunc(manifest["members"].([]any), func(m any) bool {
		name := m.(map[string]any)["name"].(string)
		table, ok := strings.CutPrefix(strings.TrimSuffix(name, ".jsonl"), "state/")
		younger := ok && !slices.Contains(tables, table)
		if younger {
			without = append(without, name)
		}
		return younger
	})
	text, err := json.Marshal(manifest)
	require.NoError(t, err)
	return repack(t, archive, without, map[string]string{"manifest.json": string(text)})
}

func TestADatabaseOfALaterVersionIsRefused(t *testing.T) {
	for kind, try := range map[string]storetest.Tryer{"sqlite": storetest.TrySQLite(t.TempDir()), "postgres": storetest.TryPostgres(pgtest.DSN(t))} {
		t.Run(kind, func(t *testing.T) {
			db := storetest.Must(try)(t, storage.Options{})
			require.NoError(t, db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
				_, err := tx.Exec(ctx, "UPDATE schema_version SET version = 9999 WHERE name = 'state'")
				return err
			}))
			require.NoError(t, db.Close())
			_, err := try(t.Context(), storage.Options{})
			require.ErrorIs(t, err, storage.ErrNewer)
			require.ErrorContains(t, err, "9999")
		})
	}
}

func TestManyEnginesThatStartAtOnceMigrateOnce(t *testing.T) {
	dsn := pgtest.DSN(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, MaxConns: 4}, storetest.Schemas()...)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			if err := db.Ping(t.Context()); err != nil {
				t.Errorf("Ping: %v", err)
			}
			if err := db.Close(t.Context()); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	db := storetest.OpenSQLite(t, dir, storage.Options{})
	require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{storetest.OneWrite(1)}))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	for name, opts := range map[string]sqlite.Options{
		"Dir":      {},
		"Readers":  {Dir: t.TempDir(), Readers: 65},
		"MaxGroup": {Dir: t.TempDir(), Options: storage.Options{MaxGroup: -1}},
	} {
		_, err := sqlite.Open(t.Context(), opts, tagstore.Schema())
		require.ErrorIs(t, err, storage.ErrOption)
		require.ErrorContains(t, err, name)
	}
	_, err := postgres.Open(t.Context(), postgres.Options{DSN: "host=x port=nope password=hush"})
	require.ErrorIs(t, err, storage.ErrOption)
	require.NotContains(t, err.Error(), "hush")
}

func TestSomethingElseThanADatabaseIsSaid(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, sqlite.StateFile), bytes.Repeat([]byte("no database "), 1000), 0o600))
	_, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir}, storetest.Schemas()...)
	require.ErrorIs(t, err, storage.ErrCorrupt)
}

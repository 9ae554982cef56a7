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
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags"
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
	opts := storage.Options{CompactSamples: 1000}
	var (
		db  *storage.DB
		err error
	)
	if kind == "sqlite" {
		db, err = sqlite.Open(ctx, sqlite.Options{Dir: place, Options: opts})
	} else {
		db, err = postgres.Open(ctx, postgres.Options{DSN: place, Options: opts})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for w := range 4 {
		go func() {
			for i := w; ; i += 4 {
				if err := db.Writes().Put(ctx, []tags.Write{oneWrite(i)}); err != nil {
					os.Exit(1)
				}
				fmt.Printf("w %d\n", i)
			}
		}()
	}
	for i := 0; ; i++ {
		batch := make([]tags.HistorySample, 100)
		for j := range batch {
			batch[j] = tags.HistorySample{Tag: "t" + strconv.Itoa(j%7), Time: when.Add(time.Duration(i*100+j) * time.Second), Value: tags.IntValue(int64(i))}
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
				open := func() *storage.DB { return openSQLite(t, place, storage.Options{}) }
				if kind == "postgres" {
					open = func() *storage.DB { return openPostgres(t, place, storage.Options{}) }
				}
				db := open()
				for _, i := range writes {
					require.True(t, stored(t, db, oneWrite(i).ID), "write %d", i)
				}
				count := 0
				for j := range 7 {
					count += len(samplesOf(t, db.History(), "t"+strconv.Itoa(j)))
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
	db := onSQLite(t)(t, storage.Options{})
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
	db := onPostgres(t)(t, storage.Options{})
	err := db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$")
		return err
	})
	require.ErrorIs(t, err, storage.ErrFull)
}

func TestMigrationKeepsWhatAnEarlierVersionStored(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		db := open(t, storage.Options{})
		require.NoError(t, db.Remake(t.Context(), 1))
		anna := accounts.Account{Name: "Anna", PasswordHash: "x", Role: accounts.Viewer, CreatedAt: when, UpdatedAt: when}
		require.NoError(t, db.Accounts().AddAccount(t.Context(), anna))
		require.Error(t, db.Writes().Put(t.Context(), []tags.Write{oneWrite(1)}), "version 1 has no writes")
		require.NoError(t, db.Close())

		db = open(t, storage.Options{})
		got, err := db.Accounts().Account(t.Context(), "anna")
		require.NoError(t, err)
		require.Equal(t, anna, got)
		require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{oneWrite(1)}))
	})
}

func TestAlarmsComeToADatabaseOfVersion2(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		db := open(t, storage.Options{})
		require.NoError(t, db.Remake(t.Context(), 2))
		want := oneWrite(1)
		require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{want}))
		require.Error(t, raiseBatch(t.Context(), db.Alarms(), 1, 1), "version 2 has no alarms")
		require.NoError(t, db.Close())

		db = open(t, storage.Options{})
		got, err := db.Writes().Get(t.Context(), want.ID)
		require.NoError(t, err)
		require.Equal(t, want.Value, got.Value)
		usable(t, db)
	})
}

// usable sees that alarms and alerts can be kept.
func usable(t *testing.T, db *storage.DB) {
	t.Helper()
	require.NoError(t, raiseBatch(t.Context(), db.Alarms(), 1, 1))
	events, err := db.Alarms().Events(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.EqualValues(t, 1, events[0].Seq)
	require.NoError(t, db.AlertHistory().ApplyRecords(t.Context(), benchRecords(0, 1), nil))
	planDeliveries(t, db.Outbox(), 0, 1, when)
}

func TestABackupOfAnEarlierVersionIsBroughtUp(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		archive := archiveOf(t, 1, "accounts", "sessions")
		db := open(t, storage.Options{})
		require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), db, storage.RestoreOptions{}))
		_, err := db.Accounts().Account(t.Context(), "anna")
		require.NoError(t, err)
		require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{oneWrite(1)}))
		usable(t, db)
	})
}

func TestABackupWithoutAlarmsIsBroughtUp(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		archive := archiveOf(t, 2, "accounts", "sessions", "tag_writes")
		db := open(t, storage.Options{})
		require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), db, storage.RestoreOptions{}))
		_, err := db.Writes().Get(t.Context(), oneWrite(1).ID)
		require.NoError(t, err)
		usable(t, db)
	})
}

// archiveOf makes an archive as the program of an earlier version, with these state tables, would have.
func archiveOf(t *testing.T, version int, tables ...string) []byte {
	t.Helper()
	db := onSQLite(t)(t, storage.Options{})
	require.NoError(t, db.Accounts().AddAccount(t.Context(), accounts.Account{Name: "anna"}))
	require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{oneWrite(1)}))
	archive := backupOf(t, db, storage.BackupOptions{})

	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	f, err := z.Open("manifest.json")
	require.NoError(t, err)
	var manifest map[string]any
	require.NoError(t, json.NewDecoder(f).Decode(&manifest))
	manifest["schema"].(map[string]any)["state"] = version
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
	for kind, try := range map[string]tryer{"sqlite": trySQLite(t.TempDir()), "postgres": tryPostgres(pgtest.DSN(t))} {
		t.Run(kind, func(t *testing.T) {
			db := must(try)(t, storage.Options{})
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
			db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, MaxConns: 4})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			if err := db.Ping(t.Context()); err != nil {
				t.Errorf("Ping: %v", err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	db := openSQLite(t, dir, storage.Options{})
	require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{oneWrite(1)}))
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
		"Dir":            {},
		"Readers":        {Dir: t.TempDir(), Readers: 65},
		"MaxGroup":       {Dir: t.TempDir(), Options: storage.Options{MaxGroup: -1}},
		"CompactSamples": {Dir: t.TempDir(), Options: storage.Options{CompactSamples: 5}},
		"CompactAfter":   {Dir: t.TempDir(), Options: storage.Options{CompactAfter: 1}},
	} {
		_, err := sqlite.Open(t.Context(), opts)
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
	_, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	require.ErrorIs(t, err, storage.ErrCorrupt)
}

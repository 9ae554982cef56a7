package storage_test

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
)

// fill puts something into every table.
func fill(t testing.TB, db *storetest.DB) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, db.Accounts().AddAccount(ctx, accounts.Account{Name: "Anna", PasswordHash: "$argon2id$\"ä\n", Role: accounts.Admin, CreatedAt: storetest.When}))
	require.NoError(t, db.Sessions().AddSession(ctx, accounts.Session{ID: "s1", Account: "anna", RefreshHash: []byte{0, 1, 255}, ExpiresAt: storetest.When}))
	require.NoError(t, db.Writes().Put(ctx, []tags.Write{
		{ID: "w1", Tag: "a", Value: tags.StringValue("x\x00y"), By: "anna", State: tags.WriteQueued, Confirm: true, QueuedAt: storetest.When},
		{ID: "w2", Tag: "b", Value: tags.FloatValue(0.1), By: "anna", State: tags.WriteDone, QueuedAt: storetest.When, CompletedAt: storetest.When},
		{ID: "w3", Tag: "c", Value: tags.StringValue(""), State: tags.WriteQueued},
	}))
	fillAlarms(t, db)
	require.NoError(t, db.Keys().PublishKeys(ctx, []accounts.PublicKey{{ID: "k1", PKIX: []byte{0, 1, 255}, ExpiresAt: storetest.When}}, storetest.When))
	db.Exec(t, `INSERT INTO alert_posts (id, at_us, notification) VALUES ('n1', 1, '{"Message":"too hot"}')`)
	fillShells(t, db)
	p := storetest.NewPlant(20)
	require.NoError(t, db.History().Append(ctx, p.Batch(5000)))
	require.NoError(t, db.History().Compact(ctx))
	require.NoError(t, db.History().Append(ctx, p.Batch(500))) // these stay in batches
}

// dump gives all that the stores have.
func dump(t testing.TB, db *storetest.DB) string {
	t.Helper()
	var b strings.Builder
	all, err := db.Accounts().Accounts(t.Context())
	require.NoError(t, err)
	fmt.Fprintln(&b, all)
	s, err := db.Sessions().Session(t.Context(), "s1")
	require.NoError(t, err)
	fmt.Fprintln(&b, s)
	for _, id := range []string{"w1", "w2", "w3"} {
		w, err := db.Writes().Get(t.Context(), id)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%+v\n", w)
	}
	dumpAlarms(t, db, &b)
	dumpShells(t, db, &b)
	for i := range 20 {
		fmt.Fprintln(&b, storetest.Samples(t, db.History(), fmt.Sprintf("line.tag%d", i)))
	}
	return b.String()
}

func backupOf(t testing.TB, db *storetest.DB, opts storage.BackupOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, db.Backup(t.Context(), &b, opts))
	return b.Bytes()
}

func TestBackupFitsEveryDatabase(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		source := open(t, storage.Options{})
		fill(t, source)
		path := filepath.Join(t.TempDir(), "model.json")
		require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
		archive := backupOf(t, source, storage.BackupOptions{Files: map[string]string{"config/model.json": path, "gone": path + ".gone"}})
		want := dump(t, source)

		storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
			target := open(t, storage.Options{})
			files := map[string]string{}
			require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), target.DB, storage.RestoreOptions{
				File: func(name string, r io.Reader) error {
					text, err := io.ReadAll(r)
					files[name] = string(text)
					return err
				},
			}))
			require.Equal(t, map[string]string{"config/model.json": "{}"}, files)
			require.Equal(t, want, dump(t, target))

			goOn(t, target)
			require.NoError(t, target.History().Append(t.Context(), storetest.NewPlant(25).Batch(25)), "new tags get new numbers")
			require.NoError(t, target.History().Compact(t.Context()))
			require.Len(t, storetest.Samples(t, target.History(), "line.tag24"), 1)
			require.Equal(t, 275, storetest.Count(t, target.History(), "line.tag19"), "the batch repeated a stored sample")

			err := storage.Restore(t.Context(), bytes.NewReader(archive), target.DB, storage.RestoreOptions{})
			require.ErrorIs(t, err, storage.ErrNotEmpty)
		})
	})
}

// Messages of engines are worth nothing after a backup, and must not be delivered after a restore.
func TestTransientRowsAreNotInABackup(t *testing.T) {
	const message = "INSERT INTO bus_messages (engine, seq, subject, request, expires_us, data) VALUES ('e', 1, 'm.values', 0, 0, ?)"
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		source := open(t, storage.Options{})
		source.Exec(t, message, []byte{1})
		archive := backupOf(t, source, storage.BackupOptions{})
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		require.NoError(t, err)
		for _, f := range z.File {
			require.NotContains(t, f.Name, "bus_messages")
		}
		storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
			target := open(t, storage.Options{})
			target.Exec(t, message, []byte{2})
			require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), target.DB, storage.RestoreOptions{}))
			require.NoError(t, target.View(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
				var n int
				require.NoError(t, tx.Row(ctx, "SELECT COUNT(*) FROM bus_messages", nil, &n))
				require.Zero(t, n)
				return nil
			}))
		})
	})
}

func TestBackupIsOfOneMomentWhileWritesGoOn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			for i := 0; ; i++ { // two rows in one step: a backup must have both or none
				err := db.Writes().Put(ctx, []tags.Write{storetest.OneWrite(2 * i), storetest.OneWrite(2*i + 1)})
				if err != nil {
					ended <- err
					return
				}
			}
		}()
		for range 5 {
			archive := backupOf(t, db, storage.BackupOptions{})
			z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
			require.NoError(t, err)
			f, err := z.Open("state/tag_writes.jsonl")
			require.NoError(t, err)
			text, err := io.ReadAll(f)
			require.NoError(t, err)
			require.Zero(t, (bytes.Count(text, []byte("\n"))-1)%2)
		}
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

func TestDamagedArchivesChangeNothing(t *testing.T) {
	source := storetest.OnSQLite(t)(t, storage.Options{})
	fill(t, source)
	archive := backupOf(t, source, storage.BackupOptions{})
	target := storetest.OnSQLite(t)(t, storage.Options{})
	refused := func(damaged []byte, what string) {
		t.Helper()
		err := storage.Restore(t.Context(), bytes.NewReader(damaged), target.DB, storage.RestoreOptions{TempDir: t.TempDir()})
		require.ErrorIs(t, err, storage.ErrBadArchive, what)
	}
	for n := 0; n < len(archive); n += 1 + len(archive)/40 {
		refused(archive[:n], fmt.Sprintf("cut after %d of %d bytes", n, len(archive)))
	}
	refused(repack(t, archive, nil, map[string]string{"files/../../etc/passwd": "x"}), "a name that leaves its place")
	refused(repack(t, archive, nil, map[string]string{"state/other.jsonl": "[]\n"}), "a member that the manifest lacks")
	refused(repack(t, archive, []string{"state/accounts.jsonl"}, nil), "a missing member")
	refused(repack(t, archive, []string{"state/accounts.jsonl"}, map[string]string{"state/accounts.jsonl": "[]\n"}), "another member")
	refused(repack(t, archive, []string{"manifest.json"}, map[string]string{"manifest.json": `{"product":"other"}`}), "another product")

	newer := repack(t, archive, []string{"manifest.json"}, map[string]string{
		"manifest.json": `{"product":"otkit","format":1,"schema":{"state":9999,"history":1}}`,
	})
	require.ErrorIs(t, storage.Restore(t.Context(), bytes.NewReader(newer), target.DB, storage.RestoreOptions{}), storage.ErrNewer)
	require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), target.DB, storage.RestoreOptions{}), "still empty")
	require.Equal(t, dump(t, source), dump(t, target))
}

// repack copies an archive without some members and with others.
func repack(t *testing.T, archive []byte, without []string, with map[string]string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range z.File {
		if !strings.Contains("\n"+strings.Join(without, "\n")+"\n", "\n"+f.Name+"\n") {
			require.NoError(t, w.Copy(f))
		}
	}
	for name, text := range with {
		m, err := w.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(m, text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestBackupRefusesBadFileNames(t *testing.T) {
	db := storetest.OnSQLite(t)(t, storage.Options{})
	for _, name := range []string{"", ".", "../x", "/etc/x", `a\b`, "a/../../b", "c:x"} {
		err := db.Backup(t.Context(), io.Discard, storage.BackupOptions{Files: map[string]string{name: "x"}})
		require.ErrorIs(t, err, storage.ErrOption, "%q", name)
	}
}

func TestEveryTableIsInABackup(t *testing.T) {
	dir := t.TempDir()
	db := storetest.OpenSQLite(t, dir, storage.Options{})
	archive := backupOf(t, db, storage.BackupOptions{})
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	var members, want []string
	for _, f := range z.File {
		members = append(members, f.Name)
	}
	for set, pool := range map[string]*sql.DB{"state": db.StatePool(), "history": db.HistoryPool()} {
		rows, err := pool.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('schema_version', 'bus_messages')") // the latter is transient
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		for rows.Next() {
			var name string
			require.NoError(t, rows.Scan(&name))
			want = append(want, set+"/"+name+".jsonl")
		}
		require.NoError(t, rows.Err())
	}
	require.ElementsMatch(t, append(want, "manifest.json"), members)
}

func BenchmarkBackup(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		db, _ := storetest.Bench(b, kind)
		p := storetest.NewPlant(1000)
		for range 200 {
			require.NoError(b, db.History().Append(b.Context(), p.Batch(10_000)))
		}
		require.NoError(b, db.History().Compact(b.Context()))
		var archive bytes.Buffer
		b.Run(kind+"/backup", func(b *testing.B) {
			for b.Loop() {
				archive.Reset()
				require.NoError(b, db.Backup(b.Context(), &archive, storage.BackupOptions{}))
			}
			b.ReportMetric(2e6*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
			b.ReportMetric(float64(archive.Len())/2e6, "B/sample")
		})
		b.Run(kind+"/restore", func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				target, _ := storetest.Bench(b, kind)
				b.StartTimer()
				require.NoError(b, storage.Restore(b.Context(), bytes.NewReader(archive.Bytes()), target.DB, storage.RestoreOptions{}))
			}
			b.ReportMetric(2e6*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

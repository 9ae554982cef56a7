package main_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/clusterstore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// drainable runs what of an engine shares work, with the id and the file of a data directory. Its work ends when release is closed.
func drainable(t *testing.T, db *storage.DB, dataDir string, release <-chan struct{}) *clusterpart.Cluster {
	t.Helper()
	store, err := clusterstore.New(db)
	require.NoError(t, err)
	id := "other"
	o := clusterpart.Options{Store: store, Bus: bus.NewMemory().Join(), Name: "hall-1", Host: "host", Version: "1"}
	if dataDir != "" {
		name, err := alertingpart.EngineName(dataDir)
		require.NoError(t, err)
		id, _, _ = strings.Cut(name, "@")
		o.DrainFile = filepath.Join(dataDir, "drain")
	}
	o.Engine = id
	c, err := clusterpart.New(t.Context(), o)
	require.NoError(t, err)
	c.Handle("driver", func(ctx context.Context, _ string, _ *cluster.Held) error {
		<-ctx.Done()
		<-release
		return nil
	})
	c.Set("driver", []cluster.Work{{Name: "pump"}, {Name: "press"}})
	part := c.Part()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	part.Start()
	go func() {
		defer close(ended)
		part.Jobs[0](ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		require.NoError(t, part.Drain(context.Background()))
		require.NoError(t, part.Close(context.Background()))
	})
	return c
}

func TestAnEngineIsDrainedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	dsn, data := pgtest.DSN(t), t.TempDir()
	env := []string{"Storage__Driver=postgres", "Storage__Dsn=" + dsn}
	run(t, env, "", "migrate", "-data", data).ok(t)
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn}, clusterstore.Schema())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	file := filepath.Join(data, "drain")

	run(t, env, "", "drain", "-data", data).refused(t, "no engine has run on the data directory "+data)
	require.NoFileExists(t, file)
	release := make(chan struct{})
	c := drainable(t, db, data, release)
	eventually(t, "the engine does no work", func() bool { _, _, owned := c.Owner("driver", "pump"); return owned })

	run(t, env, "", "drain", "-data", data).refused(t, "no other engine is there to take the work over; -force drains the engine nevertheless")
	run(t, env, "", "drain", "-data", data, "-wait", "0").refused(t, "no other engine is there to take the work over")
	require.NoFileExists(t, file)
	late := run(t, env, "", "drain", "-data", data, "-wait", "2s", "-force")
	require.Equal(t, 3, late.code, "%s%s", late.out, late.err)
	require.Contains(t, late.out, "the engine hall-1 still does: driver 2\n")
	require.Contains(t, late.err, "not done after 2s; the engine goes on\n")
	require.FileExists(t, file)
	close(release)
	done := run(t, env, "", "drain", "-data", data).ok(t)
	require.True(t, strings.HasSuffix(done.out, "the engine hall-1 is drained\n"), done.out)
	eventually(t, "it does work that it gave away", func() bool { _, _, owned := c.Owner("driver", "pump"); return !owned })

	undone := run(t, env, "", "drain", "-data", data, "-undo").ok(t)
	require.True(t, strings.HasSuffix(undone.out, "the engine hall-1 takes its share of the work\n"), undone.out)
	require.NoFileExists(t, file)
	eventually(t, "the engine does no work", func() bool { _, _, owned := c.Owner("driver", "pump"); return owned })

	drainable(t, db, "", release)
	eventually(t, "the other engine is not seen", func() bool { return len(c.View().Sessions) == 2 })
	run(t, env, "", "drain", "-data", data).ok(t)
}

func TestDrainOfAnEngineThatDoesNotRunIsForItsNextStart(t *testing.T) {
	t.Parallel()
	dsn, data := pgtest.DSN(t), t.TempDir()
	env := []string{"Storage__Driver=postgres", "Storage__Dsn=" + dsn}
	run(t, env, "", "migrate", "-data", data).ok(t)
	_, err := alertingpart.EngineName(data)
	require.NoError(t, err)
	done := run(t, env, "", "drain", "-data", data).ok(t)
	require.Equal(t, "the engine does not run; it will be drained when it does\n", done.out)
	require.FileExists(t, filepath.Join(data, "drain"))
	require.Empty(t, run(t, env, "", "drain", "-undo", "-wait", "0", "-data", data).ok(t).out)
	require.NoFileExists(t, filepath.Join(data, "drain"))

	away := run(t, []string{"Storage__Driver=postgres", "Storage__Dsn=postgres://a@127.0.0.1:1/x?sslmode=disable&connect_timeout=2"}, "", "drain", "-data", data)
	require.Equal(t, 1, away.code)
	require.Contains(t, away.err, "the engine is told; whether it does it cannot be seen: ")
	require.FileExists(t, filepath.Join(data, "drain"))
}

func TestDrainIsForEnginesThatShareAPlant(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	run(t, nil, "", "drain", "-data", data).refused(t, "storage.driver is sqlite")
	run(t, nil, "", "drain", "-data", data, "now").refused(t, "drain takes flags only")
	left, err := os.ReadDir(data)
	require.NoError(t, err)
	require.Empty(t, left)
}

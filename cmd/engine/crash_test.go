package main_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/otkit/otkit/openapi/client"
	"github.com/otkit/otkit/tags"
)

// crashRounds is how often the engine is killed. Each round goes on in the directory of the last one.
const crashRounds = 5

func TestKill9LosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2026, 11))
	data := t.TempDir()
	var writes, configs, users ids
	readable := map[string]tags.Value{} // samples of sim.counter by time
	began := time.Now().Add(-time.Minute)
	var token string
	for round := range crashRounds {
		e := start(t, known, "-demo", "-data", data)
		if token == "" {
			token = e.admin().token
		}
		s := e.with(token)
		s.good("sim.speed")
		s.requireKept(writes.list(), configs.list(), readable, began)

		ctx, cancel := context.WithCancel(t.Context())
		var load sync.WaitGroup
		errs := make(chan error, 4)
		load.Go(func() { errs <- s.writeUntilGone(ctx, &writes) })
		load.Go(func() { errs <- s.writeUntilGone(ctx, &writes) })
		load.Go(func() { errs <- s.configureUntilGone(ctx, round, &configs) })
		load.Go(func() { errs <- addUsersUntil(ctx, t, data, round, &users) })
		before := len(users.list()) // adding one is the slowest of what the engine is killed in
		eventually(t, "not enough is acknowledged", func() bool {
			for _, p := range s.history("sim.counter", began, time.Now(), 100_000) {
				readable[p.Timestamp.String()] = p.Value
			}
			return len(users.list()) > before && len(readable) > round &&
				len(writes.list()) > 20*(round+1) && len(configs.list()) > 10*(round+1)
		})
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		e.kill()
		cancel()
		load.Wait()
		for range cap(errs) {
			require.NoError(t, <-errs)
		}
	}
	e := start(t, known, "-demo", "-data", data)
	s := e.with(token)
	s.good("sim.speed")
	s.requireKept(writes.list(), configs.list(), readable, began)
	require.Equal(t, client.Healthy, e.health().Results["storage"].Status)
	require.NotContains(t, e.log.String(), "level=ERROR")
	listed := run(t, nil, "", "users", "list", "-data", data).ok(t).out
	for _, name := range users.list() {
		require.Contains(t, listed, name)
	}
	require.NotNil(t, s.bulk(item("after.all")).JSON200, "a model file that was half-written does not stand in the way")
	e.stop()
	requireSound(t, filepath.Join(data, "otkit.db"))
	requireSound(t, filepath.Join(data, "history.db"))
	left, err := filepath.Glob(filepath.Join(data, "config", "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(data, "config", "equipment_model.json")}, left, "nor does it stay")
}

// requireKept asserts that what was acknowledged before is there.
func (s *session) requireKept(writes, configs []string, readable map[string]tags.Value, began time.Time) {
	s.t.Helper()
	for _, id := range writes {
		w := s.outcome(id)
		require.NotEqual(s.t, client.Queued, w.State, id)
	}
	have := s.configured()
	for _, id := range configs {
		require.Contains(s.t, have, id)
	}
	if len(readable) == 0 {
		return
	}
	now := map[string]tags.Value{}
	for _, p := range s.history("sim.counter", began, time.Now(), 100_000) {
		now[p.Timestamp.String()] = p.Value
	}
	for at, value := range readable {
		v, there := now[at]
		require.True(s.t, there, at)
		require.Equal(s.t, value, v)
	}
}

// configureUntilGone posts new tags in batches.
func (s *session) configureUntilGone(ctx context.Context, round int, acknowledged *ids) error {
	for n := 0; ; n++ {
		var batch []client.TagConfig
		var names []string
		for i := range 5 {
			id := fmt.Sprintf("line%d.tag%d_%d", round, n, i)
			names = append(names, id)
			batch = append(batch, client.TagConfig{TagID: id, DriverID: "later", Address: "x", DataType: client.Float, Description: strings.Repeat("d", 200)})
		}
		answer, err := s.BulkTagConfigWithResponse(ctx, batch)
		switch {
		case err != nil:
			return nil //nolint:nilerr // the engine is gone, which is how this ends
		case answer.JSON200 == nil:
			return fmt.Errorf("%s %s", answer.Status(), answer.Body)
		}
		acknowledged.add(names...)
	}
}

// addUsersUntil adds accounts with the command beside the engine.
func addUsersUntil(ctx context.Context, t *testing.T, data string, round int, acknowledged *ids) error {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("user%d-%d", round, n)
		cmd := exec.CommandContext(ctx, binary(t), "users", "add", "-data", data, "-role", "Viewer", name)
		cmd.Env, cmd.Stdin = environment(nil), strings.NewReader(password)
		if out, err := cmd.CombinedOutput(); err == nil {
			acknowledged.add(name)
		} else if ctx.Err() == nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	return nil
}

// requireSound has the database check itself.
func requireSound(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var verdict string
	require.NoError(t, db.QueryRow("PRAGMA integrity_check").Scan(&verdict))
	require.Equal(t, "ok", verdict)
}

// A crash between two starts must not shut the operator out either.
func TestKill9RightAfterTheFirstStart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, nil, "-data", data)
	first := e.firstPassword()
	e.kill()
	e = start(t, nil, "-data", data)
	require.Empty(t, e.firstPassword())
	require.Equal(t, http.StatusOK, e.login("admin", first).status())
}

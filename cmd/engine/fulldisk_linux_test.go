package main_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// smallDisk mounts a file system of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m,mode=0700"); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			realtest.Skip(t, "a small disk can be mounted by root only")
		}
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// fill takes all the space that is left; the function gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	require.NoError(t, err)
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
	return func() { require.NoError(t, os.Remove(path)) }
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	data := filepath.Join(disk, "data")
	model := filepath.Join(data, "config", "equipment_model.json")
	e := start(t, known, "-demo", "-data", data)
	began := time.Now()
	s := e.admin()
	s.good("sim.counter")
	require.NotNil(t, s.bulk(item("kept.tag")).JSON200)
	before, err := os.ReadFile(model)
	require.NoError(t, err)
	require.Equal(t, client.Written, s.settled(s.write("sim", "speed", "100", false)).State)

	free := fill(t, disk)
	// What has room in files that are there already still succeeds; then it is refused.
	taken := "100"
	var accepted []string
	var refused *client.WriteTagResponse
	eventually(t, "a full disk refuses no write", func() bool {
		value := fmt.Sprint(101 + time.Now().UnixMicro()%2000)
		refused, err = s.WriteTagWithResponse(t.Context(), "sim", "speed", nil, client.WriteRequest{Value: &value})
		require.NoError(t, err)
		if refused.JSON200 != nil {
			taken = value
			accepted = append(accepted, refused.JSON200.WriteID)
			return false
		}
		return true
	})
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode(), "%s", refused.Body)
	require.Contains(t, string(refused.Body), `"STORAGE_FULL"`)
	_, err = s.grpc.WriteTag(s.rpc(), &platformv1.WriteTagRequest{DriverId: "sim", Address: "speed", Value: "2999"})
	require.Equal(t, codes.Unavailable, status.Code(err), err)

	counter := s.read("sim.counter")
	eventually(t, "tags stand still on a full disk", func() bool {
		now := s.read("sim.counter")
		return now.Quality == client.Good && now.CurrentValue != counter.CurrentValue
	})
	require.Equal(t, taken, s.read("sim.speed").CurrentValue.String(), "what was refused was not sent")

	answer := s.bulk(item("lost.one"), item("lost.two"))
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode(), "%s", answer.Body)
	require.Contains(t, string(answer.Body), `"STORAGE_FULL"`, "what cannot be recorded is not done")
	require.NotContains(t, string(answer.Body), disk)
	require.NotContains(t, s.configured(), "lost.one")
	after, err := os.ReadFile(model)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))

	eventually(t, "health does not tell of the full disk", func() bool {
		now := e.health()
		return now.Status != client.Healthy && strings.Contains(fmt.Sprint(now.Results), "cannot be stored")
	})

	free()
	eventually(t, "the engine does not recover", func() bool { return e.health().Status == client.Healthy })
	require.Equal(t, client.Confirmed, s.settled(s.write("sim", "speed", "2500", true)).State)
	for _, id := range accepted {
		require.Equal(t, client.Written, s.settled(id).State, "the outcome is told also when it could not be stored at once")
	}
	require.NotNil(t, s.bulk(item("later.tag")).JSON200)
	require.Equal(t, http.StatusOK, e.admin().status(), "a new session can be stored")
	now := time.Now()
	eventually(t, "history does not go on", func() bool {
		points := s.history("sim.counter", now, time.Now(), 100)
		return len(points) > 0
	})
	requireNoGap(t, s.history("sim.counter", began, time.Now(), 100_000), 6*time.Second)
	leftovers, err := filepath.Glob(filepath.Join(data, "config", "*"))
	require.NoError(t, err)
	require.Equal(t, []string{model}, leftovers)
	e.stop()

	s = start(t, known, "-demo", "-data", data).with(s.token)
	have := s.configured()
	require.Contains(t, have, "kept.tag")
	require.Contains(t, have, "later.tag")
	require.NotContains(t, have, "lost.two")
}

// requireNoGap asserts that samples that waited while the disk was full were stored later.
func requireNoGap(t *testing.T, points []client.HistoryPoint, longest time.Duration) {
	t.Helper()
	for i := 1; i < len(points); i++ {
		require.Less(t, points[i].Timestamp.Sub(points[i-1].Timestamp), longest, "gap before %s", points[i].Timestamp)
	}
}

func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	free := fill(t, disk)
	r := run(t, nil, "", "-demo", "-data", filepath.Join(disk, "data"), "-listen", "127.0.0.1:0")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "full", r.err)
	free()
	require.NotEmpty(t, start(t, nil, "-demo", "-data", filepath.Join(disk, "data")).firstPassword())
}

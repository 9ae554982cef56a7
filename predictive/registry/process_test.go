package registry_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/registry"
)

const (
	childDir = "OTKIT_TEST_REGISTRY" // in the environment of a child
	keep     = 5
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// child is the process that is killed: it puts and deletes models, and prints what it has done.
func child(dir string) error {
	r, err := registry.Open(registry.Options{Dir: dir, Keep: keep})
	if err != nil {
		return err
	}
	for {
		seed := rand.Uint64()
		version, err := r.Put(context.Background(), predictive.Meta{ModelType: rul, Seed: seed, Default: true}, grown(seed))
		if err != nil {
			return err
		}
		fmt.Println("put", version)
		if rand.IntN(4) == 0 {
			fmt.Println("deletes", version)
			_ = r.Delete(context.Background(), rul, version) // another process may have deleted it
		}
	}
}

// grown returns the model of a seed.
func grown(seed uint64) []byte {
	return bytes.Repeat(fmt.Appendln(nil, seed), 1+int(seed%20_000))
}

// start starts a child; the returned function kills it after so many lines, and returns what it has put and deleted.
func start(t *testing.T, dir string, lines int) func() (put, deleted []int) {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), childDir+"="+dir)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	return func() (put, deleted []int) {
		read := bufio.NewReader(out)
		for ; ; lines-- {
			if lines == 0 {
				time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
				require.NoError(t, process.Process.Kill())
			}
			line, err := read.ReadString('\n')
			if errors.Is(err, io.EOF) {
				_ = process.Wait()
				return put, deleted
			}
			require.NoError(t, err)
			var word string
			var n int
			_, err = fmt.Sscan(line, &word, &n)
			require.NoError(t, err)
			if word == "put" {
				put = append(put, n)
			} else {
				deleted = append(deleted, n)
			}
		}
	}
}

// Two processes that write are killed at any moment, again and again.
func TestKilledAtAnyMoment(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir, Keep: keep})
	seen, highest := map[int]bool{}, 0
	for range 6 {
		one, two := start(t, dir, 1+rand.IntN(25)), start(t, dir, 1+rand.IntN(25))
		var put, deleted []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, end := range []func() ([]int, []int){one, two} {
			wg.Go(func() {
				p, d := end()
				mu.Lock()
				defer mu.Unlock()
				put, deleted = append(put, p...), append(deleted, d...)
			})
		}
		wg.Wait()
		for _, version := range put {
			require.False(t, seen[version], "%d was given twice", version)
			seen[version] = true
			highest = max(highest, version)
		}
		require.Empty(t, damaged(t, r))
		here := versions(t, r)
		highest = max(highest, slices.Max(append(here, 0)))
		require.LessOrEqual(t, len(here), keep+1)
		for _, version := range put {
			if version > highest-keep && !slices.Contains(deleted, version) {
				require.Contains(t, here, version)
			}
		}
		for _, version := range here {
			m, model, err := r.Get(t.Context(), rul, version)
			require.NoError(t, err)
			require.True(t, bytes.Equal(grown(m.Seed), model))
		}
	}
	version := put(t, r, true)
	require.Greater(t, version, highest)
	serves(t, r, version)
	require.LessOrEqual(t, len(files(t, dir)), 2*keep+1, "what killed processes left is removed; the mark of a deleted version may be there")
}

// A process that holds the lock and does not go on does not block others for ever, nor those that read.
func TestAWriterThatHangs(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir})
	put(t, r, true)
	lock := flock.New(filepath.Join(dir, "registry.lock"))
	require.NoError(t, lock.Lock())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range 2 {
		_, err := r.Put(ctx, predictive.Meta{ModelType: rul}, []byte("x"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, r.Delete(ctx, rul, 1), context.DeadlineExceeded)
	}
	serves(t, r, 1)
	require.Equal(t, []int{1}, versions(t, r))
	require.NoError(t, lock.Unlock())
	require.Equal(t, 2, put(t, r, true))
}

// late is a context that ends as soon as a file is there.
type late struct {
	context.Context
	path string
}

func (c late) Err() error {
	if _, err := os.Stat(c.path); err == nil {
		return context.DeadlineExceeded
	}
	return nil
}

// A writer that was stopped in the middle, and goes on when its caller has given up, makes no version.
func TestALateWriteIsNotCarriedOut(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir})
	_, err := r.Put(late{t.Context(), filepath.Join(dir, "RUL_v1")}, predictive.Meta{ModelType: rul}, []byte("x"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, versions(t, r))
	require.Empty(t, files(t, dir))
	require.Equal(t, 1, put(t, r, true))
}

// What reads while others write and delete never sees a part of a model, and always one that serves.
func TestReadingWhileVersionsComeAndGo(t *testing.T) {
	dir := t.TempDir()
	writer, reader := open(t, registry.Options{Dir: dir, Keep: 1}), open(t, registry.Options{Dir: dir})
	put(t, writer, true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 25 {
			_, _ = writer.Put(t.Context(), predictive.Meta{ModelType: rul, Default: true}, []byte("x"))
		}
	}()
	for last := 0; ; {
		m, _, err := reader.Get(t.Context(), rul, 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, m.Version, last)
		last = m.Version
		require.Empty(t, damaged(t, reader))
		select {
		case <-done:
			serves(t, reader, 26)
			return
		default:
		}
	}
}

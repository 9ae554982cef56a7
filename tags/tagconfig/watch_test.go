package tagconfig

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watched is a store with a running Watch. changes gets the tag ids of each change.
func watched(t *testing.T, path string, opts Options) (s *Store, changes <-chan string) {
	t.Helper()
	seen := make(chan string, 1000)
	opts.Path, opts.Logger = path, quiet()
	opts.Debounce = 10 * time.Millisecond
	known := map[string]bool{} // kept by the edits, as a user of the store does
	opts.OnChange = func(e Edit) {
		for _, id := range e.Remove {
			delete(known, id)
		}
		for _, id := range ids(e.Put) {
			known[id] = true
		}
		seen <- strings.Join(slices.Sorted(maps.Keys(known)), " ")
	}
	s, err := Open(t.Context(), opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Watch(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return s, seen
}

const patience = time.Minute

func next(t *testing.T, changes <-chan string) string {
	t.Helper()
	select {
	case c := <-changes:
		return c
	case <-time.After(patience):
		t.Fatal("no change was seen")
		return ""
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, patience, 2*time.Millisecond, what)
}

func text(ids ...string) string {
	var items []string
	for _, id := range ids {
		items = append(items, fmt.Sprintf(`{"tagId":%q,"driverId":"plc","dataType":"Float"}`, id))
	}
	return `{"modelName":"m","version":"1","variables":[` + strings.Join(items, ",\n") + `]}`
}

// replace saves as most editors do.
func replace(t testing.TB, path, content string) {
	t.Helper()
	write(t, path+"~", content)
	require.NoError(t, os.Rename(path+"~", path))
}

func TestWatchTakesOverWhatIsSaved(t *testing.T) {
	for name, poll := range map[string]time.Duration{"by notice": time.Hour, "by looking": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			path := modelPath(t)
			if name == "by notice" {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			}
			s, changes := watched(t, path, Options{PollInterval: poll})
			replace(t, path, text("a"))
			require.Equal(t, "a", next(t, changes), "the file appears")
			replace(t, path, text("a", "b"))
			require.Equal(t, "a b", next(t, changes), "replaced")
			write(t, path, text("b", "c"))
			eventually(t, "written in place", func() bool { return strings.Join(ids(s.List()), " ") == "b c" })
		})
	}
}

func TestWatchKeepsTheLastGoodConfiguration(t *testing.T) {
	path := modelPath(t)
	write(t, path, text("a"))
	s, changes := watched(t, path, Options{PollInterval: 5 * time.Millisecond})
	require.Equal(t, "a", next(t, changes))

	replace(t, path, `{"variables":[`+"\n"+`{"tagId":"b"}]}`)
	eventually(t, "the fault is reported", func() bool { return s.Err() != nil })
	require.ErrorIs(t, s.Err(), ErrModelFile)
	require.ErrorContains(t, s.Err(), "line 2: variables[0].driverId is required")
	require.Equal(t, []string{"a"}, ids(s.List()))

	replace(t, path, text("a", "c"))
	require.Equal(t, "a c", next(t, changes))
	eventually(t, "all is well again", func() bool { return s.Err() == nil })

	require.NoError(t, os.Remove(path))
	eventually(t, "the deletion is reported", func() bool { return s.Err() != nil })
	require.ErrorIs(t, s.Err(), os.ErrNotExist)
	require.Equal(t, []string{"a", "c"}, ids(s.List()))

	_, err := s.Bulk(t.Context(), []Config{item("d")})
	require.NoError(t, err)
	require.NoError(t, s.Err())
	require.Equal(t, []string{"a", "c", "d"}, ids(open(t, path).List()), "the file is whole again")
}

func TestBulkKeepsABrokenFileAside(t *testing.T) {
	path := modelPath(t)
	write(t, path, text("a"))
	s := open(t, path)
	write(t, path, "{ hours of work")
	_, err := s.Bulk(t.Context(), []Config{item("b")})
	require.NoError(t, err)
	require.NoError(t, s.Err())
	require.Equal(t, []string{"a", "b"}, ids(open(t, path).List()))
	aside, err := os.ReadFile(path + ".broken")
	require.NoError(t, err)
	require.Equal(t, "{ hours of work", string(aside))
}

func TestBulkTakesOverWhatAnEditorSavedBefore(t *testing.T) {
	path := modelPath(t)
	write(t, path, text("a"))
	s := open(t, path)
	replace(t, path, text("b"))
	_, err := s.Bulk(t.Context(), []Config{item("c")})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, ids(s.List()))
}

func TestOwnWritesAreNotTakenForChanges(t *testing.T) {
	path := modelPath(t)
	s, changes := watched(t, path, Options{PollInterval: time.Millisecond})
	for i := range 5 {
		_, err := s.Bulk(t.Context(), []Config{item(fmt.Sprint(i))})
		require.NoError(t, err)
		next(t, changes)
	}
	require.NoError(t, s.Reload(t.Context()))
	for range 50 { // turns in which Watch looked at the file as well
		require.NoError(t, s.Reload(t.Context()))
	}
	require.Empty(t, changes)
}

// An old file with the same size, written within one tick of the clock, still is a change.
func TestChangeWithinOneTickOfTheFileClock(t *testing.T) {
	path := modelPath(t)
	write(t, path, text("a"))
	s := open(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	write(t, path, text("b"))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	require.NoError(t, s.Reload(t.Context()))
	require.Equal(t, []string{"b"}, ids(s.List()))
}

func TestEditorReplacesTheFileWhileBulksRun(t *testing.T) {
	path := modelPath(t)
	write(t, path, text("a"))
	s, _ := watched(t, path, Options{PollInterval: time.Millisecond})
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 40 && err == nil; i++ {
			content := text("a", fmt.Sprintf("edit%d", i))
			if i%4 == 0 {
				content = "{broken"
			}
			if err = os.WriteFile(path+"~", []byte(content), 0o644); err == nil {
				err = os.Rename(path+"~", path)
			}
		}
		done <- err
	}()
	for i := range 40 {
		_, err := s.Bulk(t.Context(), []Config{item(fmt.Sprintf("bulk%d", i))})
		require.NoError(t, err)
		_, err = s.Get(fmt.Sprintf("bulk%d", i))
		if err != nil { // an editor that saved later has the last word
			require.ErrorIs(t, err, ErrNotFound)
		}
	}
	require.NoError(t, <-done)
	_, err := s.Bulk(t.Context(), []Config{item("last")})
	require.NoError(t, err)
	require.NoError(t, s.Reload(t.Context()))
	require.NoError(t, s.Err())
	require.Equal(t, open(t, path).List(), s.List(), "memory and file agree")
	require.Contains(t, ids(s.List()), "last")
}

func TestWatchFollowsAFolderThatIsMadeAnew(t *testing.T) {
	path := modelPath(t)
	_, changes := watched(t, path, Options{PollInterval: 5 * time.Millisecond})
	replace(t, path, text("a"))
	require.Equal(t, "a", next(t, changes))
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	replace(t, path, text("b"))
	require.Equal(t, "b", next(t, changes))
}

package tagconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stopping is a Repository whose calls can be made to fail, as of a process that ends there.
type stopping struct {
	*Memory
	apply, note error
	applied     int
	after       func() // is called once by Apply when it has stored
}

func (r *stopping) Apply(ctx context.Context, from int64, c Changeset) (int64, error) {
	if r.apply != nil {
		return 0, r.apply
	}
	r.applied++
	revision, err := r.Memory.Apply(ctx, from, c)
	if after := r.after; after != nil {
		r.after = nil
		after()
	}
	return revision, err
}

func (r *stopping) NoteFile(ctx context.Context, f FileState) error {
	if r.note != nil {
		return r.note
	}
	return r.Memory.NoteFile(ctx, f)
}

func openWith(t testing.TB, path string, r Repository) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path, Repository: r, Logger: quiet()})
	require.NoError(t, err)
	return s
}

func applyBehind(t testing.TB, s *Store, e Edit) {
	t.Helper()
	e.WriteBehind = true
	_, err := s.Apply(t.Context(), e)
	require.NoError(t, err)
}

// inFile returns the descriptions of the items of a model file.
func inFile(t testing.TB, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, c := range open(t, path).List() {
		all[c.TagID] = c.Description
	}
	return all
}

func descriptions(s *Store) map[string]string {
	all := map[string]string{}
	for _, c := range s.List() {
		all[c.TagID] = c.Description
	}
	return all
}

func TestBulkIsInRepositoryAndFileWhenItReturns(t *testing.T) {
	path, r := modelPath(t), NewMemory()
	s := openWith(t, path, r)
	_, err := s.Bulk(t.Context(), []Config{described("a", "1"), described("b", "1")})
	require.NoError(t, err)
	want := map[string]string{"a": "1", "b": "1"}
	require.Equal(t, want, inFile(t, path))
	require.NoError(t, os.Remove(path))
	again := openWith(t, path, r)
	require.Equal(t, want, descriptions(again), "the repository has it")
	require.Equal(t, want, inFile(t, path), "a file that is gone is written")
}

func TestEditOfOneTagIsWrittenBehind(t *testing.T) {
	path, r := modelPath(t), NewMemory()
	s := openWith(t, path, r)
	_, err := s.Bulk(t.Context(), []Config{described("a", "1"), described("b", "1"), described("c", "1")})
	require.NoError(t, err)
	applyBehind(t, s, Edit{Put: []Config{described("a", "2")}, Remove: []string{"b"}})
	want := map[string]string{"a": "2", "c": "1"}
	require.Equal(t, want, descriptions(s))
	require.Equal(t, "1", inFile(t, path)["a"], "not yet")

	again := openWith(t, path, r) // as after a kill -9: an unchanged, older file
	require.Equal(t, want, descriptions(again))
	require.Equal(t, want, inFile(t, path), "it is written at the start")
	require.NoError(t, s.Err())
}

func TestWatchWritesBehind(t *testing.T) {
	path, r := modelPath(t), NewMemory()
	s, _ := watched(t, path, Options{Repository: r, WriteDelay: time.Millisecond, PollInterval: time.Hour})
	applyBehind(t, s, Edit{Put: []Config{described("a", "1")}})
	eventually(t, "the file follows", func() bool {
		data, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(data), `"a"`)
	})
	require.NoError(t, s.Err())
}

func TestFileEditedWhileNobodyLookedIsAnEdit(t *testing.T) {
	path, r := modelPath(t), NewMemory()
	s := openWith(t, path, r)
	_, err := s.Bulk(t.Context(), []Config{described("keep", "1"), described("edited", "1"), described("dropped", "1"), described("late", "1"), described("lateGone", "1")})
	require.NoError(t, err)
	// Acknowledged, but not yet in the file when the process ends.
	applyBehind(t, s, Edit{Put: []Config{described("late", "2"), described("lateNew", "2")}, Remove: []string{"lateGone"}})

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(data)) {
		switch {
		case strings.Contains(line, `"dropped"`):
		case strings.Contains(line, `"edited"`):
			lines = append(lines, strings.Replace(line, `"description":"1"`, `"description":"by hand","owner":"ann"`, 1),
				`{"tagId":"added","driverId":"plc","dataType":"Float","description":"by hand"},`)
		default:
			lines = append(lines, line)
		}
	}
	write(t, path, strings.Join(lines, ""))

	var seen []FileEdit
	again, err := Open(t.Context(), Options{Path: path, Repository: r, Logger: quiet(), OnFileEdit: func(e FileEdit) { seen = append(seen, e) }})
	require.NoError(t, err)
	want := map[string]string{"keep": "1", "edited": "by hand", "added": "by hand", "late": "2", "lateNew": "2"}
	require.Equal(t, want, descriptions(again))
	require.Equal(t, want, inFile(t, path), "the file has the late ones, too")
	require.Equal(t, []string{"variables.owner"}, again.Unknown())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), `"owner":"ann"`)
	require.Less(t, strings.Index(string(text), `"edited"`), strings.Index(string(text), `"added"`), "where it was put")
	require.Less(t, strings.Index(string(text), `"added"`), strings.Index(string(text), `"late"`))

	require.Len(t, seen, 1)
	require.Equal(t, 3, seen[0].Total)
	before, after := seen[0].Values()
	require.Equal(t, map[string]any{"description": "1"}, before["edited"])
	require.Equal(t, map[string]any{"description": "by hand"}, after["edited"])
	require.Equal(t, "by hand", after["added"]["description"])
	require.Equal(t, "1", before["dropped"]["description"])
	require.NotContains(t, after, "dropped")

	seen = nil
	last, err := Open(t.Context(), Options{Path: path, Repository: r, Logger: quiet(), OnFileEdit: func(e FileEdit) { seen = append(seen, e) }})
	require.NoError(t, err)
	require.Equal(t, want, descriptions(last))
	require.Empty(t, seen, "our own text is not an edit")
}

func TestFirstStartTakesTheFileOver(t *testing.T) {
	path, r := modelPath(t), NewMemory()
	write(t, path, `{"modelName":"line 4","version":"7","owner":"ops","variables":[{"tagId":"z","driverId":"d","dataType":"Int"},{"tagId":"a","driverId":"d","dataType":"Int","x":[1, 2]}]}`)
	s := openWith(t, path, r)
	require.Equal(t, []string{"a", "z"}, ids(s.List()))
	require.NoError(t, os.Remove(path))
	again := openWith(t, path, r)
	name, version := again.Model()
	require.Equal(t, []string{"line 4", "7"}, []string{name, version})
	require.Equal(t, []string{"owner", "variables.x"}, again.Unknown())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Less(t, strings.Index(string(data), `"z"`), strings.Index(string(data), `"a"`), "in its order")
	require.Contains(t, string(data), `"owner": "ops"`)
}

// A process that ends between the steps of a write leaves what the next start understands.
func TestEndsBetweenTheStepsOfAWrite(t *testing.T) {
	end := errors.New("the process ends here")
	t.Run("before the transaction", func(t *testing.T) {
		path, r := modelPath(t), &stopping{Memory: NewMemory()}
		s := openWith(t, path, r)
		_, err := s.Bulk(t.Context(), []Config{described("a", "1")})
		require.NoError(t, err)
		r.apply = end
		_, err = s.Bulk(t.Context(), []Config{described("a", "2")})
		require.ErrorIs(t, err, end)
		require.Equal(t, map[string]string{"a": "1"}, descriptions(s))
		require.Equal(t, map[string]string{"a": "1"}, inFile(t, path))
		names, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Len(t, names, 1, "no temporary file stays")
	})
	t.Run("after the rename, before it is noted", func(t *testing.T) {
		path, r := modelPath(t), &stopping{Memory: NewMemory()}
		s := openWith(t, path, r)
		r.note = end
		_, err := s.Bulk(t.Context(), []Config{described("a", "1")})
		require.NoError(t, err, "it is in the repository and in the file")
		r.note = nil
		edits := 0
		again, err := Open(t.Context(), Options{Path: path, Repository: r, Logger: quiet(), OnFileEdit: func(FileEdit) { edits++ }})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "1"}, descriptions(again))
		require.Zero(t, edits, "it is our own text")
		require.Equal(t, 1, r.applied)
	})
	t.Run("after the transaction, before the rename", func(t *testing.T) {
		path, r := modelPath(t), NewMemory()
		s := openWith(t, path, r)
		_, err := s.Bulk(t.Context(), []Config{described("a", "1")})
		require.NoError(t, err)
		state, err := r.Load(t.Context(), func(Record) error { return nil })
		require.NoError(t, err)
		file := state.File
		file.Next = FileMark{Hash: "of a text that was never in its place", Revision: 2}
		d := s.state.Load().draft()
		d.put(described("a", "2"))
		set, err := d.changeset()
		require.NoError(t, err)
		set.File = &file
		_, err = r.Apply(t.Context(), 1, set)
		require.NoError(t, err)
		again := openWith(t, path, r)
		require.Equal(t, map[string]string{"a": "2"}, descriptions(again))
		require.Equal(t, map[string]string{"a": "2"}, inFile(t, path))
	})
}

func TestFileThatCannotBeReplaced(t *testing.T) {
	path, r := modelPath(t), &stopping{Memory: NewMemory()}
	s := openWith(t, path, r)
	_, err := s.Bulk(t.Context(), []Config{described("a", "1")})
	require.NoError(t, err)
	full := func(path string) (tempFile, error) {
		f, err := createTemp(path)
		return failing{tempFile: f, write: syscall.ENOSPC}, err
	}
	s.create = full
	_, err = s.Bulk(t.Context(), []Config{described("a", "2")})
	require.ErrorIs(t, err, ErrFull)
	require.Equal(t, map[string]string{"a": "1"}, descriptions(s))
	require.Equal(t, map[string]string{"a": "1"}, descriptions(openWith(t, filepath.Join(t.TempDir(), "m.json"), r)), "nor does the repository have it")

	applyBehind(t, s, Edit{Put: []Config{described("a", "3")}})
	require.ErrorIs(t, s.Sync(t.Context()), ErrFull)
	require.ErrorIs(t, s.Err(), ErrFull, "health tells")
	require.Equal(t, map[string]string{"a": "1"}, inFile(t, path))
	s.create = createTemp
	require.NoError(t, s.Sync(t.Context()))
	require.NoError(t, s.Err())
	require.Equal(t, map[string]string{"a": "3"}, inFile(t, path))
}

// What the rename refuses after the transaction is taken back.
func TestRenameThatFailsIsTakenBack(t *testing.T) {
	path, r := modelPath(t), &stopping{Memory: NewMemory()}
	s := openWith(t, path, r)
	_, err := s.Bulk(t.Context(), []Config{described("a", "1"), described("b", "1")})
	require.NoError(t, err)
	r.after = func() { // the path becomes a folder
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.MkdirAll(filepath.Join(path, "x"), 0o755))
	}
	_, err = s.Apply(t.Context(), Edit{Put: []Config{described("a", "2"), described("c", "2")}, Remove: []string{"b"}})
	requireNotSaved(t, err)
	want := map[string]string{"a": "1", "b": "1"}
	require.Equal(t, want, descriptions(s))
	require.NoError(t, os.RemoveAll(path))
	_, err = s.Bulk(t.Context(), []Config{described("d", "1")})
	require.NoError(t, err)
	want["d"] = "1"
	require.Equal(t, want, descriptions(openWith(t, path, r)))
	require.Equal(t, want, inFile(t, path))
}

// Engines that share a repository see each other's edits, and an edit of what the other has changed meanwhile is made of what it is now.
func TestStoresOnOneRepository(t *testing.T) {
	r := NewMemory()
	one := openWith(t, "", r)
	var seen Edit
	two, err := Open(t.Context(), Options{Repository: r, Logger: quiet(), OnChange: func(e Edit) { seen = e }})
	require.NoError(t, err)
	_, err = one.Bulk(t.Context(), []Config{described("a", "1"), described("b", "1")})
	require.NoError(t, err)
	require.Empty(t, two.List())
	var found string
	_, err = two.Apply(t.Context(), Edit{Put: []Config{described("c", "2")}, Check: func(get func(string) (Config, bool)) error {
		a, _ := get("a")
		found = a.Description
		return nil
	}})
	require.NoError(t, err)
	require.Equal(t, "1", found, "the edit is checked against what it is applied to")
	require.Equal(t, map[string]string{"a": "1", "b": "1", "c": "2"}, descriptions(two))

	_, err = two.Apply(t.Context(), Edit{Remove: []string{"a"}, WriteBehind: true})
	require.NoError(t, err)
	one.followNow(t.Context())
	require.Equal(t, map[string]string{"b": "1", "c": "2"}, descriptions(one))
	_, err = one.Bulk(t.Context(), []Config{described("b", "3")})
	require.NoError(t, err)
	two.followNow(t.Context())
	require.Equal(t, []string{"b"}, ids(seen.Put))
}

func TestConcurrentEditsOfBothKinds(t *testing.T) {
	path, r := modelPath(t), &stopping{Memory: NewMemory()}
	s, _ := watched(t, path, Options{Repository: r, WriteDelay: time.Millisecond, PollInterval: time.Millisecond})
	var wg sync.WaitGroup
	const callers, each = 6, 20
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				e := Edit{Put: []Config{item(fmt.Sprintf("%d.%d", c, i)), described("shared", fmt.Sprint(c))}, WriteBehind: c%2 == 0}
				if i > 0 {
					e.Remove = []string{fmt.Sprintf("%d.%d", c, i-1)}
				}
				if _, err := s.Apply(t.Context(), e); err != nil {
					t.Error(err)
				}
				s.List()
			}
		})
	}
	wg.Wait()
	require.Equal(t, callers+1, s.Len())
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, s.List(), open(t, path).List())
	require.Equal(t, s.List(), openWith(t, path, r).List())
	require.LessOrEqual(t, r.applied, callers*each)
}

func TestInitialFileIsReadOnce(t *testing.T) {
	path, r := modelPath(t), NewMemory()
	write(t, path, text("a"))
	initial := func() *Store {
		s, err := Open(t.Context(), Options{Initial: path, Repository: r, Logger: quiet()})
		require.NoError(t, err)
		return s
	}
	s := initial()
	require.Equal(t, []string{"a"}, ids(s.List()))
	_, err := s.Apply(t.Context(), Edit{Remove: []string{"a"}, Put: []Config{item("b")}})
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, ids(initial().List()))
	require.Equal(t, []string{"a"}, ids(open(t, path).List()), "it is not written")
}

func TestEditIsAllOrNothing(t *testing.T) {
	s := open(t, modelPath(t))
	_, err := s.Bulk(t.Context(), []Config{item("a"), item("b")})
	require.NoError(t, err)
	refused := errors.New("no")
	_, err = s.Apply(t.Context(), Edit{Remove: []string{"a"}, Check: func(func(string) (Config, bool)) error { return refused }})
	require.ErrorIs(t, err, refused)
	_, err = s.Apply(t.Context(), Edit{Remove: []string{"a"}, Put: []Config{item("c"), item("d")}, MaxItems: 2})
	require.ErrorIs(t, err, ErrTagLimit)
	require.Equal(t, []string{"a", "b"}, ids(s.List()))
	result, err := s.Apply(t.Context(), Edit{Remove: []string{"a", "a", "none"}, Put: []Config{item("b"), item("c")}})
	require.NoError(t, err)
	require.Equal(t, Result{Put: 2, Added: 1, Removed: 1, Total: 2, Revision: s.Revision()}, result)
	before := s.Revision()
	result, err = s.Apply(t.Context(), Edit{Put: []Config{item("b")}, Remove: []string{"none"}})
	require.NoError(t, err)
	require.Equal(t, before, result.Revision, "nothing has changed")
}

// What an editor saves counts, also right after a file that lacked an edit of the API, which is kept.
func TestFileEditedAgainBeforeItIsWritten(t *testing.T) {
	path, r := modelPath(t), NewMemory()
	s := openWith(t, path, r)
	_, err := s.Bulk(t.Context(), []Config{described("a", "1"), described("b", "1"), described("c", "1")})
	require.NoError(t, err)
	applyBehind(t, s, Edit{Put: []Config{described("a", "api"), described("late", "api")}})
	save := func(items ...string) {
		write(t, path, `{"modelName":"m","version":"1","variables":[`+strings.Join(items, ",")+`]}`)
		require.NoError(t, s.Reload(t.Context()))
	}
	line := func(id, description string) string {
		return fmt.Sprintf(`{"tagId":%q,"driverId":"plc","dataType":"Float","description":%q}`, id, description)
	}
	save(line("new", "hand"), line("b", "hand"), line("a", "1"))
	require.Equal(t, map[string]string{"a": "api", "b": "hand", "new": "hand", "late": "api"}, descriptions(s))
	save(line("c", "back"), line("b", "hand 2"), line("a", "1"))
	want := map[string]string{"a": "api", "b": "hand 2", "c": "back", "late": "api"}
	require.Equal(t, want, descriptions(s))
	require.NoError(t, s.Sync(t.Context()))
	require.Equal(t, want, inFile(t, path))
	require.Equal(t, want, descriptions(openWith(t, path, r)))
}

// An edit that was taken back does not count as one that the file lacks.
func TestFileEditedAfterAnEditWasTakenBack(t *testing.T) {
	path, r := modelPath(t), &stopping{Memory: NewMemory()}
	s := openWith(t, path, r)
	_, err := s.Bulk(t.Context(), []Config{described("a", "1")})
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	r.after = func() {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.MkdirAll(filepath.Join(path, "x"), 0o755))
	}
	_, err = s.Bulk(t.Context(), []Config{described("a", "2")})
	requireNotSaved(t, err)
	require.NoError(t, os.RemoveAll(path))
	write(t, path, strings.Replace(string(text), `"description":"1"`, `"description":"hand"`, 1))
	require.Equal(t, map[string]string{"a": "hand"}, descriptions(openWith(t, path, r)))
}

// What people save while the store writes the file is taken over, and not written over.
func TestFileEditedWhileItIsWritten(t *testing.T) {
	byHand := func(t *testing.T, path, description string) {
		write(t, path, fmt.Sprintf(`{"modelName":"m","version":"1","variables":[{"tagId":"a","driverId":"plc","dataType":"Float","description":"1"},`+
			`{"tagId":"hand","driverId":"plc","dataType":"Float","description":%q}]}`, description))
	}
	want := map[string]string{"a": "1", "hand": "saved", "b": "api"}
	for name, edit := range map[string]func(t *testing.T, s *Store){
		"bulk": func(t *testing.T, s *Store) {
			_, err := s.Bulk(t.Context(), []Config{described("b", "api")})
			require.NoError(t, err)
		},
		"behind": func(t *testing.T, s *Store) {
			applyBehind(t, s, Edit{Put: []Config{described("b", "api")}})
			require.NoError(t, s.Sync(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, r := modelPath(t), &stopping{Memory: NewMemory()}
			s := openWith(t, path, r)
			_, err := s.Bulk(t.Context(), []Config{described("a", "1")})
			require.NoError(t, err)
			times := 0
			s.create = func(temp string) (tempFile, error) {
				if times++; times == 1 {
					byHand(t, path, "first")
				} else if times == 2 {
					byHand(t, path, "saved")
				}
				return createTemp(temp)
			}
			edit(t, s)
			require.Equal(t, want, descriptions(s))
			require.Equal(t, want, inFile(t, path))
			require.Equal(t, want, descriptions(openWith(t, path, r)))
		})
	}
	t.Run("after the transaction", func(t *testing.T) {
		path, r := modelPath(t), &stopping{Memory: NewMemory()}
		s := openWith(t, path, r)
		_, err := s.Bulk(t.Context(), []Config{described("a", "1")})
		require.NoError(t, err)
		r.after = func() { byHand(t, path, "saved") }
		_, err = s.Bulk(t.Context(), []Config{described("b", "api")})
		require.NoError(t, err)
		require.Equal(t, want, descriptions(s))
		require.Equal(t, want, inFile(t, path))
	})
	t.Run("again and again", func(t *testing.T) {
		path := modelPath(t)
		s := open(t, path)
		times := 0
		s.create = func(temp string) (tempFile, error) {
			times++
			byHand(t, path, strings.Repeat("x", times))
			return createTemp(temp)
		}
		_, err := s.Bulk(t.Context(), []Config{described("b", "api")})
		requireNotSaved(t, err)
		require.Equal(t, strings.Repeat("x", times), inFile(t, path)["hand"])
	})
}

func TestPanicOfOnChangeConcernsNobodyElse(t *testing.T) {
	path := modelPath(t)
	seen := map[string]bool{}
	s, err := Open(t.Context(), Options{Path: path, Repository: NewMemory(), Logger: quiet(), OnChange: func(e Edit) {
		seen[e.Put[0].TagID] = true
		if e.Put[0].TagID == "a" {
			panic("a")
		}
	}})
	require.NoError(t, err)
	s.enqueue(&request{edit: Edit{Put: []Config{item("a")}}, done: make(chan struct{})})
	other := &request{edit: Edit{Put: []Config{item("b")}}, done: make(chan struct{})}
	s.enqueue(other)
	require.PanicsWithValue(t, "a", func() { _, _ = s.Bulk(t.Context(), []Config{item("c")}) })
	<-other.done
	require.NoError(t, other.err)
	require.Equal(t, map[string]bool{"a": true, "b": true, "c": true}, seen)
	_, err = s.Bulk(t.Context(), []Config{item("d")})
	require.NoError(t, err, "nothing is locked")
}

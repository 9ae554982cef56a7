package tagstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags/tagconfig"
)

// TestConfigRepository checks a repository against the contract of tagconfig.Repository. newRepository makes an empty one and
// closes it with t.Cleanup; it is called for each part of the suite.
func TestConfigRepository(t *testing.T, newRepository func(testing.TB) tagconfig.Repository) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(*testing.T, configRepository)
	}{
		{"Empty", testConfigEmpty},
		{"Order", testConfigOrder},
		{"Changes", testConfigChanges},
		{"Revision", testConfigRevision},
		{"File", testConfigFile},
		{"Many", testConfigMany},
		{"CanceledContext", testConfigCanceledContext},
		{"Concurrent", testConfigConcurrent},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, configRepository{newRepository(t)}) })
	}
}

type configRepository struct{ tagconfig.Repository }

func (r configRepository) apply(t testing.TB, from int64, records ...tagconfig.Record) int64 {
	t.Helper()
	next, err := r.Apply(t.Context(), from, tagconfig.Changeset{Records: records})
	require.NoError(t, err, "Apply to revision %d", from)
	require.Equal(t, from+1, next, "the new revision")
	return next
}

// requireItems checks what Load returns: id=text in order.
func (r configRepository) requireItems(t testing.TB, want ...string) tagconfig.State {
	t.Helper()
	var got []string
	state, err := r.Load(t.Context(), func(x tagconfig.Record) error {
		got = append(got, x.TagID+"="+string(x.Text))
		return nil
	})
	require.NoError(t, err, "Load")
	require.Equal(t, want, got, "what Load calls each for")
	return state
}

func (r configRepository) changes(t testing.TB, since int64) (map[string]tagconfig.Record, tagconfig.State) {
	t.Helper()
	found := map[string]tagconfig.Record{}
	state, err := r.Changes(t.Context(), since, func(x tagconfig.Record) error {
		require.NotContains(t, found, x.TagID, "each tag comes once")
		found[x.TagID] = x
		return nil
	})
	require.NoError(t, err, "Changes since %d", since)
	return found, state
}

func configRecord(id, text string, position int64) tagconfig.Record {
	r := tagconfig.Record{TagID: id, Position: position}
	if text != "" {
		r.Text = []byte(text)
	}
	return r
}

func testConfigEmpty(t *testing.T, r configRepository) {
	require.Equal(t, tagconfig.State{}, r.requireItems(t))
	found, state := r.changes(t, 0)
	require.Empty(t, found)
	require.Equal(t, tagconfig.State{}, state)
}

func testConfigOrder(t *testing.T, r configRepository) {
	const odd = `{"tagId":"ä/b \u0000","x":"<&>'\" 日本"}`
	at := r.apply(t, 0, configRecord("b", `{"b":1}`, 20), configRecord("ä/b '\"?", odd, 1<<40), configRecord("a", `{"a":1}`, 30))
	r.requireItems(t, `b={"b":1}`, `a={"a":1}`, "ä/b '\"?="+odd)
	r.apply(t, at, configRecord("a", `{"a":2}`, 10))
	state := r.requireItems(t, `a={"a":2}`, `b={"b":1}`, "ä/b '\"?="+odd)
	require.Equal(t, int64(2), state.Revision)
}

func testConfigChanges(t *testing.T, r configRepository) {
	first := r.apply(t, 0, configRecord("a", "1", 1), configRecord("b", "2", 2), configRecord("c", "3", 3))
	second := r.apply(t, first, configRecord("b", "", 2), configRecord("a", "4", 1), configRecord("never", "", 9))
	r.requireItems(t, "a=4", "c=3")
	found, state := r.changes(t, first)
	require.Equal(t, second, state.Revision)
	require.Equal(t, "4", string(found["a"].Text))
	require.Equal(t, second, found["a"].Revision)
	require.Contains(t, found, "b")
	require.Nil(t, found["b"].Text, "it was removed")
	require.NotContains(t, found, "c")
	found, _ = r.changes(t, second)
	require.Empty(t, found)
	third := r.apply(t, second, configRecord("b", "5", 4))
	found, _ = r.changes(t, second)
	require.Len(t, found, 1, "it is back")
	require.Equal(t, third, found["b"].Revision)
	r.requireItems(t, "a=4", "c=3", "b=5")

	_, err := r.Changes(t.Context(), third+1, func(tagconfig.Record) error { return nil })
	require.ErrorIs(t, err, tagconfig.ErrRevision, "of the future, as after a restore")
	failed := errors.New("enough")
	_, err = r.Changes(t.Context(), 0, func(tagconfig.Record) error { return failed })
	require.ErrorIs(t, err, failed, "the error of each ends Changes")
	_, err = r.Load(t.Context(), func(tagconfig.Record) error { return failed })
	require.ErrorIs(t, err, failed, "the error of each ends Load")
}

func testConfigRevision(t *testing.T, r configRepository) {
	at := r.apply(t, 0, configRecord("a", "1", 1))
	for _, wrong := range []int64{0, at + 1, -1} {
		_, err := r.Apply(t.Context(), wrong, tagconfig.Changeset{Records: []tagconfig.Record{configRecord("a", "2", 1)}, Header: []byte("{}"),
			File: &tagconfig.FileState{Written: tagconfig.FileMark{Hash: "x"}}})
		require.ErrorIs(t, err, tagconfig.ErrRevision, "Apply to revision %d of %d", wrong, at)
	}
	require.Equal(t, tagconfig.State{Revision: at}, r.requireItems(t, "a=1"), "nothing has changed")
}

func testConfigFile(t *testing.T, r configRepository) {
	mark := func(hash string, revision int64) tagconfig.FileMark {
		return tagconfig.FileMark{Hash: hash, Revision: revision}
	}
	file := tagconfig.FileState{Written: mark("aa", 7), Next: mark("bb", 8)}
	_, err := r.Apply(t.Context(), 0, tagconfig.Changeset{Header: []byte(`{"modelName":"línea"}`), File: &file})
	require.NoError(t, err)
	require.Equal(t, tagconfig.State{Revision: 1, Header: []byte(`{"modelName":"línea"}`), File: file}, r.requireItems(t))
	r.apply(t, 1, configRecord("a", "1", 1))
	require.Equal(t, file, r.requireItems(t, "a=1").File, "it stays")

	file = tagconfig.FileState{Written: mark("bb", 8)}
	require.NoError(t, r.NoteFile(t.Context(), file))
	state := r.requireItems(t, "a=1")
	require.Equal(t, tagconfig.State{Revision: 2, Header: []byte(`{"modelName":"línea"}`), File: file}, state)
	_, state = r.changes(t, 2)
	require.Equal(t, file, state.File)
}

func testConfigMany(t *testing.T, r configRepository) {
	const n = 2500
	var records []tagconfig.Record
	var want, left []string
	for i := range n {
		id := fmt.Sprintf("t%04d", i)
		records = append(records, configRecord(id, "1", int64(n-i)))
		want = append(want, fmt.Sprintf("t%04d=1", n-1-i))
	}
	at := r.apply(t, 0, records...)
	r.requireItems(t, want...)
	for i := range records {
		if i%2 == 0 {
			records[i].Text = nil
		} else {
			left = append([]string{records[i].TagID + "=1"}, left...)
		}
	}
	r.apply(t, at, records...)
	r.requireItems(t, left...)
	found, _ := r.changes(t, at)
	require.Len(t, found, n)
}

func testConfigCanceledContext(t *testing.T, r configRepository) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Apply(ctx, 0, tagconfig.Changeset{Records: []tagconfig.Record{configRecord("a", "1", 1)}})
	if err != nil {
		r.requireItems(t)
	}
}

// Of edits that begin at one revision, one is stored.
func testConfigConcurrent(t *testing.T, r configRepository) {
	const callers, each = 4, 10
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				for {
					state, err := r.Load(context.Background(), func(tagconfig.Record) error { return nil })
					if err != nil {
						t.Errorf("Load: %v", err)
						return
					}
					_, err = r.Apply(context.Background(), state.Revision, tagconfig.Changeset{Records: []tagconfig.Record{configRecord(fmt.Sprintf("%d.%d", c, i), "1", int64(c*each+i))}})
					if errors.Is(err, tagconfig.ErrRevision) {
						continue
					}
					if err != nil {
						t.Errorf("Apply: %v", err)
						return
					}
					break
				}
			}
		})
	}
	wg.Wait()
	found, state := r.changes(t, 0)
	require.Len(t, found, callers*each)
	require.Equal(t, int64(callers*each), state.Revision)
	revisions := map[int64]bool{}
	for _, x := range found {
		revisions[x.Revision] = true
	}
	require.Len(t, revisions, callers*each, "each edit has a revision of its own")
}

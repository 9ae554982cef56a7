package registry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/registry"
)

const rul = predictive.RULModel

func put(t testing.TB, r *registry.Registry, promoted bool) int {
	t.Helper()
	version, err := r.Put(t.Context(), predictive.Meta{ModelType: rul, Default: promoted, Threshold: 0.5}, bytes.Repeat([]byte("model"), 100))
	require.NoError(t, err)
	return version
}

func serves(t testing.TB, r *registry.Registry, want int) {
	t.Helper()
	m, _, err := r.Get(t.Context(), rul, 0)
	require.NoError(t, err)
	require.Equal(t, want, m.Version)
}

func versions(t testing.TB, r *registry.Registry) (list []int) {
	t.Helper()
	all, err := r.List(t.Context(), rul)
	require.NoError(t, err)
	for _, m := range all {
		list = append(list, m.Version)
	}
	return list
}

func damaged(t testing.TB, r *registry.Registry) (list []int) {
	t.Helper()
	all, err := r.Damaged(t.Context(), rul)
	require.NoError(t, err)
	for _, d := range all {
		require.NotEmpty(t, d.Problem)
		list = append(list, d.Version)
	}
	return list
}

// files returns the names of all files but the lock.
func files(t testing.TB, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != "registry.lock" {
			list = append(list, e.Name())
		}
	}
	return list
}

// changed returns a damage that replaces the content of a file.
func changed(suffix string, change func(text []byte) []byte) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		text, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+suffix, change(text), 0o600))
	}
}

func replaced(old, text string) func([]byte) []byte {
	return func(data []byte) []byte {
		return bytes.Replace(data, []byte(old), []byte(text), 1)
	}
}

var damages = map[string]func(t *testing.T, path string){
	"a bit of the model":      changed("", func(b []byte) []byte { b[250] ^= 4; return b }),
	"a shorter model":         changed("", func(b []byte) []byte { return b[:len(b)-1] }),
	"a longer model":          changed("", func(b []byte) []byte { return append(b, 0) }),
	"an empty model":          changed("", func([]byte) []byte { return nil }),
	"a model that is too big": func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 1<<40)) },
	"no model":                func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
	"a directory as model": func(t *testing.T, path string) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Mkdir(path, 0o700))
	},
	"empty metadata":       changed(".json", func([]byte) []byte { return nil }),
	"zeros as metadata":    changed(".json", func(b []byte) []byte { return make([]byte, len(b)) }),
	"half of the metadata": changed(".json", func(b []byte) []byte { return b[:len(b)/2] }),
	"metadata of nothing":  changed(".json", func([]byte) []byte { return []byte("{}") }),
	"null":                 changed(".json", func([]byte) []byte { return []byte("null") }),
	"another threshold":    changed(".json", replaced(`"threshold": 0.5`, `"threshold": 0.4`)),
	"another checksum":     changed(".json", replaced(`"sha256": "`, `"sha256": "0`)),
	"a newer format":       changed(".json", replaced(`"format": 1`, `"format": 2`)),
	"deep metadata":        changed(".json", func([]byte) []byte { return bytes.Repeat([]byte("["), 1<<20) }),
	"much metadata":        changed(".json", func(b []byte) []byte { return append(b, make([]byte, 8<<20)...) }),
	"metadata of another version": func(t *testing.T, path string) {
		text, err := os.ReadFile(strings.TrimSuffix(path, "3") + "2.json")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+".json", text, 0o600))
	},
}

func TestWhatIsDamagedIsNeverLoaded(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			dir := t.TempDir()
			r := open(t, registry.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 3 {
				put(t, r, true)
			}
			serves(t, r, 3)
			require.Empty(t, damaged(t, r))
			require.Empty(t, log.String())
			damage(t, filepath.Join(dir, "RUL_v3"))
			for range 3 {
				serves(t, r, 2)
			}
			_, model, err := r.Get(t.Context(), rul, 3)
			require.ErrorIs(t, err, predictive.ErrModelNotAvailable)
			require.Empty(t, model)
			require.Equal(t, []int{2, 1}, versions(t, r))
			require.Equal(t, []int{3}, damaged(t, r))
			require.Equal(t, 1, strings.Count(log.String(), "\n"), "reported once: %s", &log)
			require.Contains(t, log.String(), "RUL_v3")

			require.Equal(t, 4, put(t, r, true))
			serves(t, r, 4)
			require.NoError(t, r.Delete(t.Context(), rul, 3))
			require.Empty(t, damaged(t, r))
			require.Equal(t, []int{4, 2, 1}, versions(t, r))
			require.Equal(t, []string{"RUL_v1", "RUL_v1.json", "RUL_v2", "RUL_v2.json", "RUL_v4", "RUL_v4.json"}, files(t, dir))
		})
	}
}

func TestOnlyDamagedVersionsAreLeft(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir})
	put(t, r, true)
	require.NoError(t, os.Truncate(filepath.Join(dir, "RUL_v1"), 7))
	_, _, err := r.Get(t.Context(), rul, 0)
	require.ErrorIs(t, err, predictive.ErrModelNotAvailable)
}

// A model that was refused goes on to be refused when the default one is damaged, as long as an older default one is whole.
func TestADamagedDefault(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir})
	for _, promoted := range []bool{true, true, false} {
		put(t, r, promoted)
	}
	serves(t, r, 2)
	require.NoError(t, os.Remove(filepath.Join(dir, "RUL_v2")))
	serves(t, r, 1)
	require.NoError(t, os.Truncate(filepath.Join(dir, "RUL_v1.json"), 7))
	serves(t, r, 3)
}

func TestOldVersionsAreDeleted(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir, Keep: 2})
	put(t, r, false)
	put(t, r, true)
	for range 4 {
		put(t, r, false)
	}
	require.Equal(t, []int{6, 5, 2}, versions(t, r), "the one that serves stays")
	serves(t, r, 2)
	put(t, r, true)
	require.Equal(t, []int{7, 6}, versions(t, r))
	require.Equal(t, []string{"RUL_v6", "RUL_v6.json", "RUL_v7", "RUL_v7.json"}, files(t, dir))

	all := open(t, registry.Options{Dir: t.TempDir(), Keep: -1})
	for range 20 {
		put(t, all, true)
	}
	require.Len(t, versions(t, all), 20)
}

func TestForeignFilesStay(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{"RUL_v.json", "RUL_v-1.json", "RUL_v0.json", "RUL_v01.json", "RUL_v1.json.bak", "RUL_v1e3.json", "RUL_v9999999999.json", "RUL_vx", "notes.new", "rul_v8.json"}
	leftover := []string{"RUL_v1.new", "RUL_v1.json.new", "RUL_v3"}
	for _, name := range append(foreign, leftover...) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	r := open(t, registry.Options{Dir: dir})
	require.Empty(t, versions(t, r))
	require.Equal(t, 4, put(t, r, true), "the model v3 may have lost its metadata")
	require.ElementsMatch(t, append(foreign, "RUL_v4", "RUL_v4.json"), files(t, dir))
}

// The number of the highest version is remembered by the directory, not by the process.
func TestADeletedVersionIsRememberedByTheDirectory(t *testing.T) {
	o := registry.Options{Dir: t.TempDir()}
	put(t, open(t, o), true)
	put(t, open(t, o), true)
	require.NoError(t, open(t, o).Delete(t.Context(), rul, 2))
	require.NoError(t, open(t, o).Delete(t.Context(), rul, 1))
	require.Equal(t, []string{"RUL_v2.deleted"}, files(t, o.Dir))
	require.Equal(t, 3, put(t, open(t, o), true))
	require.Equal(t, 4, put(t, open(t, o), true))
	require.Equal(t, []string{"RUL_v3", "RUL_v3.json", "RUL_v4", "RUL_v4.json"}, files(t, o.Dir))
}

func TestADirectoryThatIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	r := open(t, registry.Options{Dir: dir})
	put(t, r, true)
	put(t, r, true)
	require.NoError(t, os.RemoveAll(dir))
	_, _, err := r.Get(t.Context(), rul, 0)
	require.ErrorIs(t, err, predictive.ErrModelNotFound)
	require.Empty(t, versions(t, r))
	require.Equal(t, 3, put(t, r, true), "a model that was read before had one of these numbers")
	serves(t, r, 3)
}

func TestADirectoryThatIsRemovedAgainAndAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	writers := []*registry.Registry{open(t, registry.Options{Dir: dir}), open(t, registry.Options{Dir: dir})}
	var wg sync.WaitGroup
	for i, r := range writers {
		wg.Go(func() {
			for n := range 40 {
				_, _ = r.Put(t.Context(), predictive.Meta{ModelType: rul, Seed: uint64(i)}, fmt.Append(nil, i, n))
			}
		})
	}
	for range 40 {
		_ = os.RemoveAll(dir)
	}
	wg.Wait()
	require.Empty(t, damaged(t, writers[0]))
	version := put(t, writers[0], true)
	serves(t, writers[1], version)
}

func TestMetadataIsJSON(t *testing.T) {
	dir := t.TempDir()
	put(t, open(t, registry.Options{Dir: dir}), true)
	text, err := os.ReadFile(filepath.Join(dir, "RUL_v1.json"))
	require.NoError(t, err)
	var file struct {
		Metadata struct {
			ModelType string
			Version   int
			Size      int
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.Equal(t, "RUL", file.Metadata.ModelType)
	require.Equal(t, 1, file.Metadata.Version)
	require.Equal(t, 500, file.Metadata.Size)
}

func TestWhatCannotBeStored(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir, MaxSize: 100})
	put := func(m predictive.Meta, size int) error {
		m.ModelType = rul
		_, err := r.Put(t.Context(), m, make([]byte, size))
		return err
	}
	require.ErrorContains(t, put(predictive.Meta{}, 101), "101 bytes, must have 1 to 100")
	require.ErrorContains(t, put(predictive.Meta{Kind: strings.Repeat("x", 5<<20)}, 100), "metadata")
	require.Empty(t, files(t, dir))
	require.NoError(t, put(predictive.Meta{}, 100))
}

func TestOptions(t *testing.T) {
	_, err := registry.Open(registry.Options{})
	require.ErrorContains(t, err, "Options.Dir is required")
	_, err = registry.Open(registry.Options{Dir: t.TempDir(), MaxSize: -1})
	require.ErrorContains(t, err, "Options.MaxSize must not be negative, not -1")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "models")} {
		_, err = registry.Open(registry.Options{Dir: dir})
		require.Error(t, err)
	}
	put(t, open(t, registry.Options{Dir: filepath.Join(t.TempDir(), "made", "on", "the way")}), true)
}

// Versions that are damaged take no place of whole ones, and go with the whole ones before them.
func TestDamagedVersionsDoNotPushOutWholeOnes(t *testing.T) {
	dir := t.TempDir()
	r := open(t, registry.Options{Dir: dir, Keep: 2, Logger: slog.New(slog.DiscardHandler)})
	put(t, r, true)
	put(t, r, true)
	for version := 3; version <= 5; version++ {
		put(t, r, true)
		path := filepath.Join(dir, fmt.Sprintf("RUL_v%d", version))
		require.NoError(t, os.WriteFile(path, []byte("junk"), 0o600))
	}
	require.Equal(t, []int{2}, versions(t, r)) // v1 went when v3 was whole
	put(t, r, true)
	require.Equal(t, []int{6, 2}, versions(t, r))
	require.Equal(t, []int{5, 4, 3}, damaged(t, r))
	require.NoError(t, r.Delete(t.Context(), rul, 4))
	require.Equal(t, []int{5, 3}, damaged(t, r))
	put(t, r, true)
	require.Equal(t, []int{7, 6}, versions(t, r))
	require.Empty(t, damaged(t, r))
}

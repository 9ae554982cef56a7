package console_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/console"
)

// texts returns the texts that all views share and those of each view.
func texts(t *testing.T, language string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, file := range sources(t, language+".json", "*."+language+".json") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var part map[string]string
		require.NoError(t, json.Unmarshal(text, &part), file)
		for key := range part {
			require.NotContains(t, all, key, file)
		}
		maps.Copy(all, part)
	}
	return all
}

// sources returns the files of the console that one of the patterns fits.
func sources(t *testing.T, patterns ...string) (files []string) {
	t.Helper()
	for _, pattern := range patterns {
		for _, folder := range []string{"", "views", "bridge"} {
			found, err := filepath.Glob(filepath.Join("web", "src", folder, pattern))
			require.NoError(t, err)
			files = append(files, found...)
		}
	}
	require.NotEmpty(t, files)
	return files
}

// A text that one language lacks would be shown as its key.
func TestEachTextIsThereInEachLanguage(t *testing.T) {
	en, ko := texts(t, "en"), texts(t, "ko")
	require.ElementsMatch(t, slices.Collect(maps.Keys(en)), slices.Collect(maps.Keys(ko)))
	placeholder := regexp.MustCompile(`\{\w+\}`)
	for key := range en {
		require.NotEmpty(t, en[key], key)
		require.NotEmpty(t, ko[key], key)
		require.ElementsMatch(t, placeholder.FindAllString(en[key], -1), placeholder.FindAllString(ko[key], -1), key)
	}
	used := regexp.MustCompile(`\bt\("([^"]+)"`)
	between := regexp.MustCompile(`>[^<>{}()=;]*\pL{2}[^<>{}()=;]*</`) // text in markup instead of in the files of texts
	attribute := regexp.MustCompile(`(?:title|placeholder|aria-label)="[^"]`)
	for _, file := range sources(t, "*.ts", "*.tsx") {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range used.FindAllSubmatch(source, -1) {
			require.Contains(t, en, string(match[1]), file)
		}
		if filepath.Ext(file) == ".tsx" {
			require.Empty(t, between.FindAllString(string(source), -1), file)
			require.Empty(t, attribute.FindAllString(string(source), -1), file)
		}
	}
}

// gzipped returns how many bytes of a file go to a browser.
func gzipped(t *testing.T, text []byte) int {
	t.Helper()
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return small.Len()
}

// A console on a slow line is loaded in a second or two, with all its views and languages.
func TestTheAssetsAreSmall(t *testing.T) {
	total := 0
	require.NoError(t, fs.WalkDir(console.Assets(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(console.Assets(), name)
		total += gzipped(t, text)
		return err
	}))
	t.Logf("%d bytes", total)
	require.Less(t, total, 150_000)
}

// What a browser loads before somebody sees the overview: the page, what it names, and what that imports at once.
func TestTheFirstLoadIsSmall(t *testing.T) {
	assets := console.Assets()
	seen, total := map[string]bool{}, 0
	var load func(name string)
	load = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		text, err := fs.ReadFile(assets, name)
		require.NoError(t, err)
		total += gzipped(t, text)
		for _, match := range firstImports.FindAllSubmatch(text, -1) {
			load("assets/" + string(match[1]))
		}
	}
	load("index.html")
	require.Greater(t, len(seen), 5)
	t.Logf("%d files, %d bytes", len(seen), total)
	require.Less(t, total, 65_000)
}

var firstImports = regexp.MustCompile(`(?:/console/assets/|(?:from|import)"\./)([\w-]+\.\w+)"`)

package tagconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/piptest"
	"github.com/otkit/otkit/internal/realtest"
)

// importFile imports what another program has written.
func importFile(t *testing.T, path string, format Format) []Config {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	items, err := Import(f, format)
	require.NoError(t, err)
	return items
}

// tame leaves out the items with texts that a program is known to take for something else.
func tame(items []Config, texts ...string) []Config {
	return slices.DeleteFunc(items, func(c Config) bool {
		return slices.ContainsFunc(texts, func(text string) bool {
			return strings.HasPrefix(c.Description, text) || text == "_x" && strings.Contains(c.Description, text)
		})
	})
}

func TestLibreOfficeGivesBackWhatItWasGiven(t *testing.T) {
	soffice := realtest.Need(t, "soffice")
	dir := t.TempDir()
	convert := func(to, file string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), soffice, "-env:UserInstallation=file://"+filepath.ToSlash(filepath.Join(dir, "profile")),
			"--headless", "--convert-to", to, "--outdir", filepath.Join(dir, "out"), file).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	items := tame(awkwardItems(), "\t") // a tab at the beginning gets lost
	in := filepath.Join(dir, "tags.xlsx")
	require.NoError(t, os.WriteFile(in, export(t, XLSX, items), 0o600))
	convert("ods", in) // what it takes over, it saves in a form of its own
	convert("xlsx", filepath.Join(dir, "out", "tags.ods"))
	require.Equal(t, items, importFile(t, filepath.Join(dir, "out", "tags.xlsx"), XLSX))

	// Its CSV has texts like formulas as they are, which a CSV of ours has not.
	items = tame(items, "=", "+", "-", "@", "'", "a;", "x,-", `"=`, "＝")
	require.Greater(t, len(items), 10)
	require.NoError(t, os.WriteFile(in, export(t, XLSX, items), 0o600))
	convert("csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false", in)
	require.Equal(t, items, importFile(t, filepath.Join(dir, "out", "tags.csv"), CSV))
}

func TestPandasGivesBackWhatItWasGiven(t *testing.T) {
	python := piptest.Need(t, "pandas==2.3.3", "openpyxl==3.1.5")
	dir := t.TempDir()
	items := tame(awkwardItems(), "=", "_x") // openpyxl writes formulas, and no escapes
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tags.xlsx"), export(t, XLSX, items), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tags.csv"), export(t, CSV, items), 0o600))
	c := exec.CommandContext(t.Context(), python, "-c", `
import pandas
pandas.read_excel("tags.xlsx", dtype=object, keep_default_na=False).to_excel("back.xlsx", index=False)
pandas.read_csv("tags.csv", dtype=str, keep_default_na=False).to_csv("back.csv", index=False)
`)
	c.Dir = dir
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, items, importFile(t, filepath.Join(dir, "back.xlsx"), XLSX))
	require.Equal(t, items, importFile(t, filepath.Join(dir, "back.csv"), CSV))
}

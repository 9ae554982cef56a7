package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	list, err := generated(12)
	require.NoError(t, err)
	list = list[1:]
	var out bytes.Buffer
	report := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, run(t.Context(), &out, list, report))
	for _, line := range []string{
		`generated in 6 conditions +12 +6 +\d+\.\d\d`,
		`generated in 6 conditions +all +\d+ +0\.9`, `generated in 6 conditions +sensor\d+: mean, stdDev, trend +\d+ +0\.9`,
		`generated in 6 conditions +4 +4 +\d+ cycles`,
	} {
		require.Regexp(t, "(?m)^"+line, out.String())
	}
	page, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(page), "<svg"))
	require.Equal(t, 12, strings.Count(string(page), "<title>unit "), "a point for each test unit")
	require.NotContains(t, string(page), "NaN")
}

// With the data there, the figures are those that the documentation promises.
func TestFigures(t *testing.T) {
	dir := found()
	if dir == "" {
		t.Skip("no data; TestAccuracyDoesNotDependOnOperatingConditions of package features judges a generated fleet")
	}
	list, err := fleets(dir)
	require.NoError(t, err)
	results, err := judge(t.Context(), list)
	require.NoError(t, err)
	for _, r := range results {
		require.LessOrEqual(t, r.rul.rmse, 12., r.name)
		require.True(t, 0.85 <= r.rul.covered && r.rul.covered <= 0.97, "%s: %v", r.name, r.rul.covered)
		if strings.HasPrefix(r.name, "FD001") {
			require.LessOrEqual(t, r.rul.score, 220., r.name)
		}
		for _, f := range r.failures {
			require.LessOrEqual(t, f.error, 0.02, r.name)
		}
		require.GreaterOrEqual(t, r.failures[0].auc, 0.99, r.name)
		require.GreaterOrEqual(t, r.failures[1].auc, 0.97, r.name)
	}
}

// write writes a set of two units to a folder, one file gzipped.
func write(t *testing.T, train string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := fmt.Fprint(w, train)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "train_FD001.txt.gz"), packed.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test_FD001.txt"), []byte(line(1, 1)+line(2, 1)+line(2, 2)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "RUL_FD001.txt"), []byte("112 \n98\n"), 0o600))
	return dir
}

// line is a line of a cycle of a unit, whose values are 0.5.
func line(unit, cycle int) string {
	return fmt.Sprint(unit, " ", cycle, strings.Repeat(" 0.5", settings+sensors), "  \n")
}

func TestLoad(t *testing.T) {
	f, err := load(write(t, line(1, 1)+line(1, 2)+line(2, 1)), "FD001")
	require.NoError(t, err)
	require.Len(t, f.train, 2)
	require.Len(t, f.train[0].Sensors, 2)
	require.Len(t, f.train[0].Sensors[0], sensors)
	require.Len(t, f.train[0].Settings[0], settings)
	require.Equal(t, 98, f.test[1].After)
	require.Zero(t, f.train[1].After)
}

func TestLoadNamesTheLineThatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		line(1, 1) + line(1, 3):                        ":2: cycle 3, want 2",
		line(1, 1) + "1 2\n":                           ":2: 2 numbers, want 26",
		strings.Replace(line(1, 1), " 0.5", " x", 1):   `:1: "x" is not a finite number`,
		strings.Replace(line(1, 1), " 0.5", " NaN", 1): `:1: "NaN" is not a finite number`,
	} {
		_, err := load(write(t, text), "FD001")
		require.ErrorContains(t, err, want)
	}
	_, err := fleets(t.TempDir())
	require.ErrorContains(t, err, "no complete set")
}

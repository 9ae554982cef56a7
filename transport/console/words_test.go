package console_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// Each reason of a quality has a text, in each language by TestEachTextIsThereInEachLanguage.
func TestEachReasonOfAQualityHasAText(t *testing.T) {
	en := texts(t, "en")
	n := 0
	for r := tags.ReasonNone + 1; !strings.HasPrefix(r.String(), "Reason("); r++ {
		require.NotEmpty(t, en["reason."+r.String()], r.String())
		n++
	}
	require.Greater(t, n, 8)
}

// A text of a code that the engine does not have is never seen.
func TestEachTextOfAProblemIsOfACode(t *testing.T) {
	missing := map[string]bool{}
	for key := range texts(t, "en") {
		if code, ok := strings.CutPrefix(key, "problem."); ok && code != "NETWORK" && code != "OTHER" {
			missing[`"`+code+`"`] = true
		}
	}
	require.Greater(t, len(missing), 40)
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "web" || d.Name() == "openapi" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			if d != nil && d.IsDir() && err == nil {
				return fs.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for code := range missing {
			if strings.Contains(string(source), code) {
				delete(missing, code)
			}
		}
		return err
	})
	require.NoError(t, err)
	require.Empty(t, missing)
}

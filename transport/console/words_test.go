package console_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/drivertypes"
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

// The types of drivers speak English; what the form of a driver shows of them is there in the other languages too.
func TestEachMemberOfADriverTypeIsTranslated(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("web", "src", "views", "drivertypes.json"))
	require.NoError(t, err)
	var translated map[string]map[string]map[string][]string
	require.NoError(t, json.Unmarshal(text, &translated))
	require.Equal(t, []string{"ko"}, slices.Collect(maps.Keys(translated)))
	for _, driver := range drivertypes.Polling() {
		var schema struct {
			Properties map[string]struct{ Description string }
		}
		require.NoError(t, json.Unmarshal(driver.SettingsSchema(), &schema))
		require.NotEmpty(t, schema.Properties, driver.Name)
		for language, types := range translated {
			members := types[driver.Name]
			require.Len(t, members[""], 2, "%s: %s", language, driver.Name)
			require.Len(t, members, len(schema.Properties)+1, "%s: %s has a member that is gone", language, driver.Name)
			for name, member := range schema.Properties {
				require.NotEmpty(t, member.Description, "%s.%s", driver.Name, name)
				require.Len(t, members[name], 2, "%s: %s.%s", language, driver.Name, name)
				for _, one := range members[name] {
					require.NotEmpty(t, one, "%s: %s.%s", language, driver.Name, name)
				}
			}
		}
	}
}

// A text of a code that the engine does not have is never seen.
func TestEachTextOfAProblemIsOfACode(t *testing.T) {
	missing := map[string]bool{}
	for key := range texts(t, "en") {
		if code, ok := strings.CutPrefix(key, "problem."); ok && code != "NETWORK" && code != "UNANSWERED" && code != "OTHER" {
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

package silences_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/silences"
)

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"Pump-1", "Pump-1", true}, {"Pump-1", "pump-1", false}, {"Pump-1", "Pump-11", false}, {"", "", true}, {"", "x", false},
		{"Equipment-*", "Equipment-7", true}, {"Equipment-*", "Equipment-", true}, {"Equipment-*", "Equipment", false},
		{"*-Sensor", "A-Sensor", true}, {"*-Sensor", "A-Sensors", false}, {"*", "", true}, {"*", "anything", true},
		{"A*B", "AB", true}, {"A*B", "AxxB", true}, {"A*A", "A", false}, {"*mid*", "amidb", true}, {"*mid*", "mi", false},
		{"a*b*c", "a1b2b3c", true}, {"a*b*c", "acb", false}, {"**", "x", true}, {"a**b", "ab", true}, {"*ab*ab*", "ab", false},
		{"[a]?.", "[a]?.", true}, {"[a]?.", "a1x", false}, {"*Ä*", "xÄy", true},
	} {
		require.Equal(t, c.want, silences.CompilePattern(c.pattern).Match(c.name), "%q on %q", c.pattern, c.name)
	}
}

func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{{"Pump-*", "Pump-1"}, {"*a*b*", "xaxb"}, {"a*a", "a"}, {"", ""}, {"*", "x"}, {"**a", "ba"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := silences.CompilePattern(pattern).Match(name)
		if !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			return // regexp reads bytes that are no UTF-8 in its own way
		}
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		require.Equal(t, regexp.MustCompile(`(?s)\A`+strings.Join(parts, ".*")+`\z`).MatchString(name), got, "%q on %q", pattern, name)

		index := silences.NewIndex([]silences.Silence{{SourceType: "*", Pattern: pattern, EndsAt: noon}})
		_, found := index.Match("Sensor", name, noon.Add(-1))
		require.Equal(t, got, found, "by the index")
	})
}

package tags_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern   string
		match, no []string
	}{
		{"", []string{""}, []string{"a"}},
		{"%", []string{"", "a", "plc.temp"}, nil},
		{"%%", []string{"", "a"}, nil},
		{"_", []string{"a", "ü", "%"}, []string{"", "ab"}},
		{"plc.%", []string{"plc.", "plc.a", "PLC.A"}, []string{"plc", "xplc.a"}},
		{"%temp", []string{"temp", "plc.Temp"}, []string{"temp1"}},
		{"%temp%", []string{"a.temperature"}, []string{"tem"}},
		{"a_c", []string{"abc", "aüc", "A.C"}, []string{"ac", "abbc"}},
		{"a%b%c", []string{"abc", "aXbYbZc", "a%b%c"}, []string{"acb", "ab"}},
		{"%ab", []string{"aab", "abab"}, []string{"aba"}},
		{`100\%`, []string{"100%"}, []string{"1000", `100\%`}},
		{`a\_b`, []string{"a_b"}, []string{"aXb"}},
		{`a\\b`, []string{`a\b`}, []string{`a\\b`}},
		{`\a`, []string{"a", "A"}, []string{`\a`}},
		{"füll%", []string{"FÜLLstand"}, []string{"fullstand"}},
		{"[a-c]*", []string{"[A-C]*"}, []string{"a", "b"}},
	} {
		p, err := tags.CompilePattern(c.pattern)
		require.NoError(t, err, c.pattern)
		for _, name := range c.match {
			require.True(t, p.Match(name), "%q matches %q", c.pattern, name)
		}
		for _, name := range c.no {
			require.False(t, p.Match(name), "%q does not match %q", c.pattern, name)
		}
	}
}

func TestPatternRefuses(t *testing.T) {
	for _, pattern := range []string{`\`, `a%\`, `\\\`, "\xff", strings.Repeat("a", tags.MaxPatternBytes+1)} {
		_, err := tags.CompilePattern(pattern)
		require.ErrorIs(t, err, tags.ErrInvalidRequest, "%q", pattern)
	}
	_, err := tags.CompilePattern(strings.Repeat("a", tags.MaxPatternBytes))
	require.NoError(t, err)
}

// A matcher that tried every way to place each % would not come back in a lifetime.
func TestPatternWorstCase(t *testing.T) {
	p, err := tags.CompilePattern(strings.Repeat("%a", 120) + "%b")
	require.NoError(t, err)
	name := strings.Repeat("a", 100_000)
	start := time.Now()
	require.False(t, p.Match(name))
	require.Less(t, time.Since(start), time.Minute)
}

// reference matches by trying everything.
func reference(pattern, name []rune) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	switch pattern[0] {
	case '%':
		return reference(pattern[1:], name) || len(name) > 0 && reference(pattern, name[1:])
	case '_':
		return len(name) > 0 && reference(pattern[1:], name[1:])
	case '\\':
		pattern = pattern[1:]
	}
	return len(name) > 0 && pattern[0] == name[0] && reference(pattern[1:], name[1:])
}

func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{{"a%_b", "axxb"}, {`\%%`, "%x"}, {"%ab%", "aab"}, {"Ü_", "üx"}, {`\`, ""}, {"%a%a%b", "aaaaaa"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(name) > 10_000 {
			return
		}
		p, err := tags.CompilePattern(pattern)
		if err != nil {
			require.ErrorIs(t, err, tags.ErrInvalidRequest)
			return
		}
		got := p.Match(name)
		if strings.Count(pattern, "%") > 4 || len(name) > 40 || !utf8.ValidString(name) {
			return // the reference would take too long, or has nothing to say
		}
		want := reference([]rune(strings.ToLower(pattern)), []rune(strings.ToLower(name)))
		require.Equal(t, want, got, "%q on %q", pattern, name)
	})
}

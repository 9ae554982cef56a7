package runes_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/runes"
)

func Example() {
	fmt.Println(runes.Cut("Öl zu heiß", 2), runes.Cut("Öl zu heiß", 1) == "", runes.Shorten("Öl zu heiß", 11), runes.Shorten("Öl", 11))
	// Output: Ö true Öl zu hei... Öl
}

func TestNoCutBreaksACharacter(t *testing.T) {
	for _, s := range []string{"", "a", "äöü", "€uro", "日本語", "a\U0001F600b"} {
		for limit := range len(s) + 2 {
			cut := runes.Cut(s, limit)
			require.True(t, strings.HasPrefix(s, cut) && utf8.ValidString(cut), "%q at %d: %q", s, limit, cut)
			require.LessOrEqual(t, len(cut), limit)
			require.Greater(t, len(cut)+utf8.UTFMax, min(limit, len(s)), "no more is cut than must be")
		}
	}
	require.Equal(t, "\uFFFDa\uFFFD", runes.Shorten("\xff\xfea\xc3", 20))
	require.Equal(t, strings.Repeat("ä", 2)+"...", runes.Shorten("äää", 5))
}

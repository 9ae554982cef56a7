package formula_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/formula"
)

func FuzzDisarm(f *testing.F) {
	for _, s := range []string{"", "plain", "=1+1", "+49", "-5", "@sum", "'=quoted", "''-", "'plain", "it's", "a;=cmd|' /C calc'!A0", "x,-y", "a;'-b", "\t=x", "-\n=2",
		`"=3"`, "＝１", "'", "''", "-'", "="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		safe := formula.Disarm(s)
		require.Equal(t, s, formula.Rearm(safe))
		for _, cell := range strings.FieldsFunc(safe, func(r rune) bool { return strings.ContainsRune(",;\"", r) }) {
			require.False(t, strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "+") || strings.HasPrefix(cell, "@"), "%q", safe)
		}
	})
}

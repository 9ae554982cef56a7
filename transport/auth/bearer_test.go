package auth

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzBearer(f *testing.F) {
	for _, s := range []string{"", "Bearer", "Bearer ", "bearer abc", "Bearer  a.b-c_d~e+f/g==", "Basic x", "Bearer a,b", "Bearer \x00", "Bearer é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		token, ok := bearer([]string{value})
		if !ok {
			return
		}
		require.True(t, strings.EqualFold(value[:7], "bearer "))
		require.NotEmpty(t, token)
		require.Equal(t, token, strings.Trim(value[7:], " "))
		require.NotContains(t, token, " ")
		require.False(t, strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' || r == '"' }))
		_, twice := bearer([]string{value, value})
		require.False(t, twice)
	})
}

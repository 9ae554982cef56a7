package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
)

// No text but the tokens that were issued is ever accepted, and none does harm.
func FuzzVerify(f *testing.F) {
	p := newPlant(f, auth.Options{})
	good := p.login(f, "admin").AccessToken
	for _, s := range []string{good, good[:len(good)-1], "..", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJFUzI1NiJ9.bnVsbA.AA", ".", ""} {
		f.Add(s)
	}
	want := part(f, good, 1)["jti"]
	f.Fuzz(func(t *testing.T, token string) {
		who, err := p.Verify(t.Context(), token)
		if err != nil {
			require.Equal(t, fault.Unauthenticated, fault.KindOf(err))
			return
		}
		require.Equal(t, want, who.TokenID)
	})
}

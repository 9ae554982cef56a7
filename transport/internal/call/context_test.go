package call

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInnermostValueCounts(t *testing.T) {
	type key struct{}
	outer := &Context{Context: context.WithValue(t.Context(), key{}, "host's")}
	outer.SetPrincipal("anna")
	outer.SetScope("1", nil)
	ctx, cancel := context.WithCancel(context.WithValue(outer, PrincipalKey, "berta"))
	defer cancel()
	require.Equal(t, "berta", ctx.Value(PrincipalKey))
	require.Equal(t, "host's", ctx.Value(key{}))
	require.Same(t, outer, Of(ctx))
	require.Nil(t, ctx.Value(CallerKey))

	inner := &Context{Context: ctx}
	require.Same(t, inner, Of(inner))
	require.False(t, inner.HasScope())
	require.Equal(t, "1", inner.Value(ScopeKey).(*Scope).TraceID, "what it has not comes from outside")
	inner.SetScope("2", nil)
	require.Equal(t, "2", inner.Value(ScopeKey).(*Scope).TraceID)
	require.Equal(t, "1", outer.Value(ScopeKey).(*Scope).TraceID)
	require.Nil(t, Of(t.Context()))
	cancel()
	require.Error(t, inner.Err())
}

package repository_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// An import of more documents than a subscriber may let wait is told whole, also to one that is idle.
func TestAnImportIsToldWhole(t *testing.T) {
	s, ctx := newService(t, repository.Options{Verification: repository.VerifyOff}), t.Context()
	var subs []*repository.Subscription
	for _, o := range []repository.SubscribeOptions{{Buffer: 3}, {Buffer: 3, Kinds: []repository.Kind{repository.KindSubmodel}}, {Buffer: 2}} {
		sub, err := s.Subscribe(o)
		require.NoError(t, err)
		defer sub.Close()
		subs = append(subs, sub)
	}
	const n = 20_001
	env := &aas.Environment{Shells: []*aas.Shell{newShell("urn:shell")}}
	for i := range n {
		env.Submodels = append(env.Submodels, newSubmodel(fmt.Sprintf("urn:%05d", i), "M"))
	}
	_, err := s.Submodels.Create(ctx, newSubmodel("urn:first", "M"))
	require.NoError(t, err)
	_, err = s.Import(ctx, env, nil, repository.ImportOptions{})
	require.NoError(t, err)
	_, err = s.Submodels.Create(ctx, newSubmodel("urn:last", "M"))
	require.NoError(t, err)

	_, err = subs[2].Next(ctx, 0)
	require.ErrorIs(t, err, repository.ErrSlowSubscriber, "it has room for two and three were told")
	events, err := subs[0].Next(ctx, 0)
	require.NoError(t, err)
	require.Len(t, events, n+3)
	require.Equal(t, []string{"urn:first", "urn:shell", "urn:00000"}, []string{events[0].ID, events[1].ID, events[2].ID})
	require.Equal(t, "urn:last", events[n+2].ID)

	got := 0
	for got < n+2 { // 3 at a time, across what was told together
		events, err := subs[1].Next(ctx, 3)
		require.NoError(t, err)
		for _, e := range events {
			switch got {
			case 0:
				require.Equal(t, "urn:first", e.ID)
			case n + 1:
				require.Equal(t, "urn:last", e.ID)
			default:
				require.Equal(t, fmt.Sprintf("urn:%05d", got-1), e.ID)
			}
			require.Equal(t, repository.Created, e.Type)
			got++
		}
	}
	_, err = s.Submodels.Create(ctx, newSubmodel("urn:more", "M"))
	require.NoError(t, err)
	events, err = subs[1].Next(ctx, 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
}

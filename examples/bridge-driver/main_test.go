package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	require.NoError(t, run(ctx, t.TempDir(), "127.0.0.1:0", func(b *bridgehost.Bridge) {
		defer stop()
		require.Equal(t, link.StatusFree, b.Host().Status().Status)
		m, err := b.Host().Manifest(t.Context())
		require.NoError(t, err)
		require.Len(t, m.Tags, 3)
		require.Equal(t, "force", m.Tags[0].Name)
	}))
}

func TestItIsADriver(t *testing.T) {
	tagstest.TestDriver(t, tagstest.DriverHarness{
		New:      func(testing.TB) tags.Driver { return &press{speed: 30} },
		Readable: []tags.Point{{Address: "strokes", Type: tags.Int}, {Address: "force", Type: tags.Float}},
		Missing:  tags.Point{Address: "none", Type: tags.Int},
	})
}

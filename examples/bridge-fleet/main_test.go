package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/server"
)

func TestAnEngineBindsTheFleet(t *testing.T) {
	const password = "correct horse battery"
	e, err := engine.New(t.Context(), engine.Options{DataDir: t.TempDir(), Server: server.Options{Listen: "127.0.0.1:0"},
		Accounts: accountspart.Options{AdminPassword: password}})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close(context.WithoutCancel(t.Context()))) }()
	e.Start()
	ctx, stop := context.WithCancel(t.Context())
	err = run(ctx, options{bridges: 5, tags: 3, dir: t.TempDir(), host: "127.0.0.1", engine: "http://" + e.Addr().String(), password: password},
		func(bridges []*bridgehost.Bridge) {
			for _, b := range bridges {
				for !b.Host().Link().Connected {
					select {
					case <-ctx.Done():
						return
					case <-time.After(10 * time.Millisecond):
					}
				}
			}
			stop()
		})
	require.NoError(t, err)
}

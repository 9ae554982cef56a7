package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/demo"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

func TestRun(t *testing.T) {
	driver, list, err := demo.NewDriver(nil)
	require.NoError(t, err)
	engine, err := engine.New(t.Context(), engine.Options{DataDir: t.TempDir(), Server: server.Options{Listen: "127.0.0.1:0"},
		Tags: tagspart.Options{Drivers: []tagspart.Driver{{ID: demo.DriverID, Driver: driver, Options: tags.DriverOptions{Tags: list}}}}})
	require.NoError(t, err)
	engine.Start()
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	require.Eventually(t, func() bool { return engine.Tags().Drivers()[0].State == tags.DriverOnline }, time.Minute, 10*time.Millisecond)

	require.NoError(t, run(t.Context(), "http://"+engine.Addr().String(), "admin", engine.InitialAdminPassword()))
	require.ErrorContains(t, run(t.Context(), "http://"+engine.Addr().String(), "admin", "wrong"), "401")
}

package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/demo"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/server"
)

func TestRun(t *testing.T) {
	driver, list, err := demo.NewDriver(nil)
	require.NoError(t, err)
	engine, err := server.New(t.Context(), server.Options{DataDir: t.TempDir(), Listen: "127.0.0.1:0",
		Drivers: []server.Driver{{ID: demo.DriverID, Driver: driver, Options: tags.DriverOptions{Tags: list}}}})
	require.NoError(t, err)
	engine.Start()
	t.Cleanup(func() { require.NoError(t, engine.Stop(context.Background())) })
	require.Eventually(t, func() bool { return engine.Tags().Drivers()[0].State == tags.DriverOnline }, time.Minute, 10*time.Millisecond)

	require.NoError(t, run(t.Context(), "http://"+engine.Addr().String(), "admin", engine.FirstPassword()))
	require.ErrorContains(t, run(t.Context(), "http://"+engine.Addr().String(), "admin", "wrong"), "401")
}

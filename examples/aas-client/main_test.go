package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/demo"
	"github.com/otkit/otkit/transport/server"
)

func TestRun(t *testing.T) {
	engine, err := engine.New(t.Context(), engine.Options{DataDir: t.TempDir(), Server: server.Options{Listen: "127.0.0.1:0"}})
	require.NoError(t, err)
	engine.Start()
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	_, list, err := demo.NewDriver(nil)
	require.NoError(t, err)
	mapper, err := tagmap.NewMapper(tagmap.Options{})
	require.NoError(t, err)
	require.NoError(t, demo.FillShells(t.Context(), engine.AAS(), mapper, list))

	var out bytes.Buffer
	base := "http://" + engine.Addr().String()
	require.NoError(t, run(t.Context(), &out, base, "admin", engine.InitialAdminPassword()))
	for _, line := range []string{
		"FillingLineL201 https://demo.otkit.example/asset/L201-2025-0008", "PumpP102", "ReactorR101", element + " is 120\n", "raised and set back\n",
	} {
		require.Contains(t, out.String(), line)
	}
	require.ErrorContains(t, run(t.Context(), &out, base, "admin", "wrong"), "401")

	api, err := login(t.Context(), base, "admin", engine.InitialAdminPassword())
	require.NoError(t, err)
	value := "/submodels/" + base64.RawURLEncoding.EncodeToString([]byte(submodel)) + "/submodel-elements/" + element + "/$value"
	_, err = api.call(t.Context(), "PATCH", value, 7, `"1"`, nil)
	require.ErrorContains(t, err, "412", "the submodel has changed since version 1")
}

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/realtest"
)

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pump.aasx")
	require.NoError(t, makePump(file))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, file, "urn:example:asset:7", "TechnicalProperties.RatedPower"))
	require.Equal(t, "Pump TechnicalData TechnicalProperties.RatedPower: 4.5\n", out.String())

	out.Reset()
	require.NoError(t, run(t.Context(), &out, file, "urn:example:asset:8", "TechnicalProperties.RatedPower"))
	require.Empty(t, out.String())
	require.ErrorIs(t, run(t.Context(), &out, file, "urn:example:asset:7", "a..b"), aas.ErrInvalidRequest)
	require.ErrorContains(t, run(t.Context(), &out, file+"x", "", ""), "no such file")
}

func TestAPublishedPackage(t *testing.T) {
	file := filepath.Join(realtest.Data(t, "idta"), "templates", "IDTA_02004-2-0_Example_HandoverDocumentation.aasx")
	service, err := load(t.Context(), file)
	require.NoError(t, err)
	page, err := service.Search(t.Context(), repository.Search{Limit: 10})
	require.NoError(t, err)
	require.NotEmpty(t, page.Documents)
}

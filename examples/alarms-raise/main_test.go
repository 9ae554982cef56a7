package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	require.Equal(t, "raised: Critical P-101 the pump runs dry\nacknowledged by: anna\nstill active: false\n", out.String())
}

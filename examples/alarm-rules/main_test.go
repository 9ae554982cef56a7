package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, 3))
	const message = `Press too hot: press\.temperature is \S+ °C, above 80\n`
	require.Regexp(t, "^Raised Warning "+message+"Cleared Warning "+message+"Raised Warning "+message+"$", out.String())
}

package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// lines sends what is written to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	for _, dir := range []string{"", dir, dir} { // in memory; in a new database; again in this one
		ctx, cancel := context.WithCancel(t.Context())
		out, stopped := make(lines, 100), make(chan error, 1)
		go func() { stopped <- run(ctx, dir, &printer{out: out}) }()
		select {
		case line := <-out:
			require.Contains(t, line, "boiler.pressure: Pressure too high:")
		case err := <-stopped:
			require.NoError(t, err)
		}
		cancel()
		require.NoError(t, <-stopped)
	}
}

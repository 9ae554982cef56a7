package program_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/program"
)

func TestTheStandardLogIsForDebugging(t *testing.T) {
	before, flags, out := slog.Default(), log.Flags(), log.Writer()
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetFlags(flags)
		log.SetOutput(out)
	})
	var lines bytes.Buffer
	var level slog.LevelVar
	program.UseLog(slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: &level})))
	log.Printf("[WARN] mdns: %s", "no multicast")
	require.Empty(t, lines.String())
	level.Set(slog.LevelDebug)
	log.Printf("[WARN] mdns: %s", "no multicast")
	require.Contains(t, lines.String(), `level=DEBUG msg="[WARN] mdns: no multicast"`)
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""}, {flag.ErrHelp, 0, ""}, {program.ErrUsage, 2, ""},
		{errors.Join(errors.New("one"), errors.New("two")), 1, "bridge: one; two\n"},
		{fmt.Errorf("x: %w", program.WithCode(3, errors.New("late"))), 3, "bridge: x: late\n"},
	} {
		var text bytes.Buffer
		require.Equal(t, c.code, program.ExitCode("bridge", c.err, &text))
		require.Equal(t, c.text, text.String())
	}
}

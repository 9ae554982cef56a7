package tts_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
	"github.com/otkit/otkit/alerting/channel/tts"
	"github.com/otkit/otkit/internal/realtest"
)

func Example() {
	_, err := tts.New(tts.Options{Speaker: "/bin/true"})
	fmt.Println(err)
	// Output: tts: Options.Player is required
}

// script makes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755)) //nolint:gosec // a program
	return name
}

func TestRealSpeech(t *testing.T) {
	espeak := realtest.Need(t, "espeak-ng")
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept.wav")
	c, err := tts.New(tts.Options{
		Speaker: espeak, Voice: "en", Speed: 160, Dir: dir, Player: []string{script(t, `cp "$2" "$1"`), kept},
	})
	require.NoError(t, err)
	require.Equal(t, "tts", c.Name())
	n := channeltest.Message()
	n.Source, n.Message = "pump one", "temperature is too high; $(reboot) -v [[x]]"
	require.NoError(t, c.Send(t.Context(), n))

	wav, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, "RIFF", string(wav[:4]))
	require.Equal(t, "WAVE", string(wav[8:12]))
	perSecond := binary.LittleEndian.Uint32(wav[28:32])
	length := time.Duration(float64(len(wav)-44) / float64(perSecond) * float64(time.Second))
	require.Greater(t, length, 2*time.Second)
	require.Less(t, length, 20*time.Second)
	loud := 0
	for i := 44; i+1 < len(wav); i += 2 {
		if v := int16(binary.LittleEndian.Uint16(wav[i:])); v > 1000 || v < -1000 {
			loud++
		}
	}
	require.Greater(t, loud, len(wav)/40, "it is not silence")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing stays but what the player kept")
}

func TestSpokenText(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "text")
	c, err := tts.New(tts.Options{
		Speaker: script(t, `cat > "$3"; echo "$@" | grep -q -- "-v de -s 100" || exit 1`), Voice: "de", Speed: 100,
		Player: []string{script(t, `cp "$2" "$1"`), kept},
	})
	require.NoError(t, err)
	for _, want := range []string{"Error alarm. plc-1. too hot: 5 & @all .\n", "Resolved. plc-1. too hot: 5 & @all .\n"} {
		n := channeltest.Message()
		n.ID, n.Resolved = want, want[0] == 'R'
		require.NoError(t, c.Send(t.Context(), n))
		text, err := os.ReadFile(kept)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

func TestFaults(t *testing.T) {
	speaks := script(t, `cat > "$3"`)
	hangs := filepath.Join(t.TempDir(), "hangs")
	waits, waitsForAChild := script(t, "touch "+hangs+"; exec sleep 120"), script(t, "sleep 120 & touch "+hangs+"; wait")
	for name, c := range map[string]struct {
		speaker, player string
		outcome         alerting.Outcome
		text            string
	}{
		"speaker fails":   {script(t, "echo no voice >&2; exit 3"), "true", alerting.OutcomeRetryable, "exit status 3: no voice"},
		"no audio":        {script(t, "exit 0"), "true", alerting.OutcomeRetryable, "no audio"},
		"player fails":    {speaks, "false", alerting.OutcomeAmbiguous, "player failed"},
		"speaker hangs":   {waits, "true", alerting.OutcomeRetryable, "canceled"},
		"player hangs":    {speaks, waits, alerting.OutcomeAmbiguous, "canceled"},
		"player's child":  {speaks, waitsForAChild, alerting.OutcomeAmbiguous, "canceled"},
		"speaker babbles": {script(t, "yes no | head -c 100000 >&2; exit 1"), "true", alerting.OutcomeRetryable, "no no"},
	} {
		t.Run(name, func(t *testing.T) {
			ch, err := tts.New(tts.Options{Speaker: c.speaker, Player: []string{c.player}})
			require.NoError(t, err)
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			sent := make(chan error, 1)
			go func() { sent <- ch.Send(ctx, channeltest.Message()) }()
			if c.text == "canceled" {
				require.Eventually(t, func() bool { return os.Remove(hangs) == nil }, time.Minute, time.Millisecond)
				giveUp()
			}
			select {
			case err = <-sent:
			case <-time.After(time.Minute): // half of the time of a program that hangs
				require.Fail(t, "it does not give up")
			}
			outcome, _ := channeltest.Outcome(t, err)
			require.Equal(t, c.outcome, outcome, "%v", err)
			require.ErrorContains(t, err, c.text)
			require.Less(t, len(err.Error()), 500)
		})
	}
}

func TestOptions(t *testing.T) {
	for text, o := range map[string]tts.Options{
		"Options.Speaker": {Speaker: "no-such-program-here", Player: []string{"true"}},
		"Options.Player":  {Player: []string{"no-such-program-here"}}, // also where espeak-ng is not installed
		"Options.Voice":   {Speaker: "true", Player: []string{"true"}, Voice: "-w/etc/passwd"},
		"Options.Speed":   {Speaker: "true", Player: []string{"true"}, Speed: 9},
	} {
		_, err := tts.New(o)
		require.ErrorContains(t, err, text)
	}
}

package main_test

import (
	wire "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

func TestAlarmsAreSpoken(t *testing.T) {
	t.Parallel()
	realtest.Need(t, "espeak-ng")
	said := filepath.Join(t.TempDir(), "said.wav")
	player := file(t, "player.sh", fmt.Sprintf("cp \"$2\" %[1]s.part && mv %[1]s.part %[1]s\n", said))
	e := start(t, with(known, []string{"Alerting__Tts__Player=sh," + player + ",--quiet", "Alerting__Tts__Voice=en-us"}), "-data", t.TempDir())
	e.told(alert("critical", "reactor 7", "The reactor is too hot"))
	eventually(t, "nothing is spoken", func() bool { _, err := os.Stat(said); return err == nil })
	wav, err := os.ReadFile(said)
	require.NoError(t, err)
	require.Greater(t, len(wav), 44)
	require.Equal(t, "RIFF WAVEfmt ", string(wav[:4])+" "+string(wav[8:16]))
	require.EqualValues(t, len(wav)-8, wire.LittleEndian.Uint32(wav[4:]), "the header tells the length")
	bytesPerSecond := float64(wire.LittleEndian.Uint32(wav[28:]))
	seconds := float64(len(wav)-44) / bytesPerSecond
	require.Greater(t, seconds, 1.5, "a dozen words")
	require.Less(t, seconds, 15.0)
	loud := 0
	for i := 44; i+1 < len(wav); i += 2 {
		if v := int16(wire.LittleEndian.Uint16(wav[i:])); v > 2000 || v < -2000 {
			loud++
		}
	}
	require.Greater(t, loud, 1000, "it is no silence")
}

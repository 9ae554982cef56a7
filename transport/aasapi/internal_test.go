package aasapi

import (
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"PT1S": time.Second, "PT0.5S": time.Second / 2, "P1DT2H": day + 2*time.Hour, "P1Y2M3DT4H5M6S": 365*day + 60*day + 3*day + 4*time.Hour + 5*time.Minute + 6*time.Second,
		"P1M": 30 * day, "PT1M": time.Minute, "P99999999Y": math.MaxInt64, "PT0S": 0,
	} {
		got, ok := parseDuration(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "P", "PT", "1S", "-PT1S", "P1S", "PT1D", "PT1S2M", "PT1.5M", "PT.S", "PT.5S", "PT1.S", "P1DT", "PT1S1S", "PT1.2.3S", "P1", "PTS"} {
		_, ok := parseDuration(text)
		require.False(t, ok, text)
	}
}

func FuzzDuration(f *testing.F) {
	for _, text := range []string{"PT1S", "P1Y2M3DT4H5M6.7S", "P", "PT", "P1D"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := parseDuration(text); ok {
			require.GreaterOrEqual(t, d, time.Duration(0))
		}
	})
}

func FuzzID(f *testing.F) {
	for _, id := range []string{"dXJuOmE", "dXJuOmE=", "_w", "!", "YR", "YQ\n"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, encoded string) {
		if id, err := decodeID("id", encoded); err == nil {
			require.True(t, utf8.ValidString(id))
			again, err := decodeID("id", encodeID(id))
			require.NoError(t, err)
			require.Equal(t, id, again)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add(encodeCursor("shells", "urn:a"))
	f.Add("AAAAAAAA")
	f.Fuzz(func(t *testing.T, cursor string) {
		if place, err := decodeCursor("shells", cursor); err == nil {
			require.Equal(t, cursor, encodeCursor("shells", place))
			_, err := decodeCursor("submodels", cursor)
			require.Error(t, err)
		}
	})
}

package registry

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
)

func sample() predictive.Meta {
	ece := 0.01
	return predictive.Meta{ModelType: predictive.RULModel, Version: 3, Kind: predictive.KindBundle, TrainedAt: time.Date(2026, 3, 1, 8, 0, 0, 1, time.UTC),
		Features: []string{"<a>", "\u2028"}, Metrics: predictive.Metrics{ECE: &ece}, SHA256: digest(nil), Size: 7, Default: true}
}

// Whatever a file has, decode neither panics nor returns metadata of another version, and what it returns it would return again.
func FuzzMetadata(f *testing.F) {
	text, err := encode(sample())
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"format":1,"sha256":"","metadata":null}`))
	f.Add([]byte(`{"format":1}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		// The fuzzer does not guess checksums: data are also tried as what is inside.
		var sealed []byte
		if inner, err := compact(data); err == nil {
			sealed, _ = seal(inner)
		}
		for _, text := range [][]byte{data, sealed} {
			m, err := decode(text, predictive.RULModel, 3)
			if err != nil {
				require.Empty(t, m)
				continue
			}
			require.Equal(t, predictive.RULModel, m.ModelType)
			require.Equal(t, 3, m.Version)
			again, err := encode(m)
			require.NoError(t, err)
			n, err := decode(again, predictive.RULModel, 3)
			require.NoError(t, err)
			twice, err := encode(n)
			require.NoError(t, err)
			require.True(t, bytes.Equal(again, twice))
		}
	})
}

func TestEveryChangedByteOfMetadataShows(t *testing.T) {
	text, err := encode(sample())
	require.NoError(t, err)
	m, err := decode(text, predictive.RULModel, 3)
	require.NoError(t, err)
	require.Equal(t, sample(), m)
	for i := range text {
		broken := bytes.Clone(text)
		broken[i] ^= 1
		if m, err := decode(broken, predictive.RULModel, 3); err == nil {
			require.Equal(t, sample(), m, "byte %d", i)
		}
		if m, err := decode(text[:i], predictive.RULModel, 3); err == nil {
			require.Equal(t, sample(), m, "%d bytes", i)
		}
	}
}

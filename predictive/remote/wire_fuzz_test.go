package remote

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
)

// FuzzAnswer checks that no answer makes the reader panic or gives a number that is not finite.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"", "null", `{"probability":0.5,"threshold":1e-400}`, `{"days":1e308,"lowDays":-0,"highDays":2,"capDays":null}`, `{"Days":[]}`, `{"days":NaN}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, modelType := range predictive.ModelTypes() {
			out, err := readAnswer(modelType, data)
			if err != nil {
				require.ErrorIs(t, err, predictive.ErrModelNotAvailable)
			}
			for _, v := range []float64{out.Probability, out.Threshold, out.Days, out.LowDays, out.HighDays, out.CapDays} {
				require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
			}
		}
	})
}

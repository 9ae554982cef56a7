package tags

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// Against arithmetic without a limit: what is given is exact, and everything that fits is given.
func FuzzWholeScaling(f *testing.F) {
	for _, raw := range []int64{0, 1, -7, 1<<60 + 1, math.MaxInt64, math.MinInt64} {
		for _, scale := range []int32{1, -1, 2, -10, math.MaxInt32, math.MinInt32} {
			f.Add(raw, scale, int64(0))
			f.Add(raw, scale, int64(-3))
			f.Add(raw, scale, int64(1<<53))
		}
	}
	f.Fuzz(func(t *testing.T, n int64, scale int32, offset int64) {
		if offset %= 1 << 53; scale == 0 {
			scale = 1
		}
		tag := Tag{DataType: Int, Scale: float64(scale), Offset: float64(offset)}
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(scale)))
		product := want.IsInt64()
		want.Add(want, big.NewInt(offset))
		got, ok := tag.integerEngineering(IntValue(n))
		require.Equal(t, product && want.IsInt64(), ok)
		if ok {
			require.Equal(t, want.Int64(), got)
			back, ok := tag.raw(IntValue(got))
			require.True(t, ok)
			require.Equal(t, IntValue(n), back)
		}

		raw, ok := tag.integerRaw(IntValue(n))
		shifted := new(big.Int).Sub(big.NewInt(n), big.NewInt(offset))
		rest := new(big.Int)
		want, rest = new(big.Int).QuoRem(shifted, big.NewInt(int64(scale)), rest)
		require.Equal(t, shifted.IsInt64() && want.IsInt64() && rest.Sign() == 0, ok)
		if ok {
			require.Equal(t, want.Int64(), raw)
		}
	})
}

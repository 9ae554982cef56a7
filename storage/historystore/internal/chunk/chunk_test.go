package chunk_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/storage/historystore/internal/chunk"
	"github.com/otkit/otkit/tags"
)

// mixed makes points of every kind, quality and rhythm.
func mixed(r *rand.Rand, n int) []chunk.Point {
	points := make([]chunk.Point, n)
	at := int64(r.Uint64N(1<<52)) - 1<<51
	value := tags.Value{}
	for i := range points {
		if r.IntN(5) > 0 {
			at += 1_000_000
		} else {
			at += 1 + r.Int64N(1<<uint(r.IntN(40)))
		}
		switch r.IntN(9) {
		case 0:
			value = tags.Value{}
		case 1:
			value = tags.BoolValue(r.IntN(2) == 0)
		case 2:
			value = tags.IntValue(int64(r.Uint64()))
		case 3:
			value = tags.FloatValue(r.NormFloat64())
		case 4:
			value = tags.FloatValue(math.Copysign(0, -1))
		case 5:
			value = tags.StringValue([]string{"", "run", "stop\x00"}[r.IntN(3)])
		case 6:
			value = tags.BytesValue([]byte{byte(r.IntN(3))}[:r.IntN(2)])
		}
		points[i] = chunk.Point{Micros: at, Value: value, Quality: tags.Quality(r.IntN(3)), Reason: tags.Reason(r.IntN(4))}
	}
	return points
}

func TestWhatIsPackedComesOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		points := mixed(r, 1+r.IntN(300))
		base := points[0].Micros - r.Int64N(1000)
		block := chunk.Append([]byte("x"), base, points)
		got, err := chunk.Decode(nil, base, block[1:])
		require.NoError(t, err)
		require.Equal(t, points, got)
	}
}

func TestExtremeNumbersComeOut(t *testing.T) {
	points := []chunk.Point{
		{Micros: math.MinInt64 / 4, Value: tags.IntValue(math.MinInt64)},
		{Micros: 0, Value: tags.IntValue(math.MaxInt64)},
		{Micros: 1, Value: tags.FloatValue(math.MaxFloat64)},
		{Micros: 2, Value: tags.FloatValue(math.SmallestNonzeroFloat64)},
		{Micros: math.MaxInt64 / 4, Value: tags.FloatValue(-math.MaxFloat64)},
	}
	got, err := chunk.Decode(nil, 7, chunk.Append(nil, 7, points))
	require.NoError(t, err)
	require.Equal(t, points, got)
}

func TestSteadySeriesCostLittle(t *testing.T) {
	points := make([]chunk.Point, 1024)
	for i := range points {
		points[i] = chunk.Point{Micros: int64(i) * 1e6, Value: tags.FloatValue(21.5), Quality: tags.Good}
	}
	require.Less(t, len(chunk.Append(nil, 0, points)), 40)
}

func TestDamageIsAnError(t *testing.T) {
	points := mixed(rand.New(rand.NewPCG(3, 4)), 100)
	whole := chunk.Append(nil, 0, points)
	for n := range whole {
		_, err := chunk.Decode(nil, 0, whole[:n])
		require.ErrorIs(t, err, chunk.ErrDamaged, "cut after %d bytes", n)
	}
	_, err := chunk.Decode(nil, 0, append(whole, 0))
	require.ErrorIs(t, err, chunk.ErrDamaged)
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := 1; n < 200; n += 13 {
		f.Add(chunk.Append(nil, 0, mixed(r, n)))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		points, err := chunk.Decode(nil, 0, block)
		if err != nil {
			require.ErrorIs(t, err, chunk.ErrDamaged)
			require.Empty(t, points)
			return
		}
		again, err := chunk.Decode(nil, 0, chunk.Append(nil, 0, points))
		require.NoError(t, err)
		require.Equal(t, points, again)
	})
}

func BenchmarkDecode(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	points := make([]chunk.Point, 1024)
	at, v := int64(0), 20.0
	for i := range points {
		at += 1_000_000 + r.Int64N(2000)
		v += r.NormFloat64()
		points[i] = chunk.Point{Micros: at, Value: tags.FloatValue(math.Round(v*100) / 100), Quality: tags.Good}
	}
	block := chunk.Append(nil, 0, points)
	var into []chunk.Point
	for b.Loop() {
		var err error
		if into, err = chunk.Decode(into[:0], 0, block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/sample")
	b.ReportMetric(float64(len(block))/1024, "B/sample")
}

func Example() {
	points := []chunk.Point{
		{Micros: 1_000_000, Value: tags.FloatValue(20.5), Quality: tags.Good},
		{Micros: 2_000_000, Value: tags.FloatValue(20.5), Quality: tags.Good},
	}
	block := chunk.Append(nil, 1_000_000, points)
	back, err := chunk.Decode(nil, 1_000_000, block)
	fmt.Println(len(block), "bytes:", back[1].Value, err)
	// Output: 15 bytes: 20.5 <nil>
}

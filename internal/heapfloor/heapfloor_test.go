package heapfloor

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercent(t *testing.T) {
	const mb = 1 << 20
	for live, want := range map[uint64]int64{
		0: 100, 1 * mb: 400, 4 * mb: 300, 5 * mb: 220, 8 * mb: 100, 100 * mb: 100,
	} {
		require.Equal(t, want, percentFor(16*mb, live), "%d MB", live/mb)
	}
}

func TestSmallHeapIsCollectedLessOften(t *testing.T) {
	t.Setenv("GOGC", "")
	percent := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	stop := Set(1 << 40) // every heap is small beside it
	require.Eventually(t, func() bool { runtime.GC(); return percent() == highest }, time.Minute, time.Millisecond)
	stop()
	require.EqualValues(t, normal, percent())

	t.Setenv("GOGC", "50")
	defer Set(1 << 40)()
	runtime.GC()
	require.EqualValues(t, normal, percent(), "the operator's setting counts")
}

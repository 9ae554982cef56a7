package heapfloor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryGoesBackAfterAPeak(t *testing.T) {
	defer Trim(500 * time.Millisecond)() // five looks must not end while the memory is in use
	peak := make([]byte, 64<<20)
	for i := 0; i < len(peak); i += 4096 {
		peak[i] = 1
	}
	require.Greater(t, held(), uint64(64<<20))
	peak = nil
	require.Eventually(t, func() bool { return held() < 32<<20 }, time.Minute, 5*time.Millisecond)
	require.Nil(t, peak)
}

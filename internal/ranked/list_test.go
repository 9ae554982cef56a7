package ranked_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/ranked"
)

// TestList compares a list with a sorted slice through random changes.
func TestList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	class := func(n int) uint8 { return uint8(n % 5) }
	list := ranked.New(cmp.Compare[int], class)
	var plain []int
	check := func() {
		t.Helper()
		require.Equal(t, len(plain), list.Len())
		require.True(t, slices.Equal(plain, slices.Collect(list.All())))
		set := ranked.Set(random.IntN(32))
		var want []int
		for _, n := range slices.Backward(plain) {
			if set.Has(class(n)) {
				want = append(want, n)
			}
		}
		require.Equal(t, len(want), list.Count(set))
		for _, skip := range []int{0, 1, random.IntN(len(want) + 1), len(want), len(want) + 7} {
			require.True(t, slices.Equal(want[min(skip, len(want)):], slices.Collect(list.Backward(set, skip))))
		}
		limit, below := random.IntN(20_000), 0
		for _, n := range want {
			if n < limit {
				below++
			}
		}
		require.Equal(t, below, list.Below(set, func(n int) bool { return n < limit }))
	}
	check()
	for range 12 {
		for range 1500 {
			n := random.IntN(20_000)
			at, found := slices.BinarySearch(plain, n)
			switch {
			case random.IntN(4) > 0:
				if list.Insert(n); !found {
					plain = slices.Insert(plain, at, n)
				}
			default:
				if list.Delete(n); found {
					plain = slices.Delete(plain, at, at+1)
				}
			}
		}
		check()
	}
	odd := func(n int) bool { return n%2 == 1 || n < 3000 }
	plain = slices.DeleteFunc(plain, odd)
	list.DeleteFunc(odd)
	check()
	require.Equal(t, plain[0], list.First())
	list.DeleteFunc(func(int) bool { return true })
	plain = nil
	check()
}

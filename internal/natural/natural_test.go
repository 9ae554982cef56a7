package natural_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/natural"
)

func TestCompare(t *testing.T) {
	sorted := []string{"", "0", "01", "1", "2", "10", "A", "a", "a.1.2", "a.1.10", "a.2", "a1b9", "a1b10", "a007b", "a7c", "a18446744073709551616",
		"a18446744073709551617", "aB", "ab1", "b", "ä2", "ä10"}
	for i, a := range sorted {
		for j, b := range sorted {
			got := natural.Compare(a, b)
			require.Equal(t, i < j, got < 0, "%q %q", a, b)
			require.Equal(t, i == j, got == 0, "%q %q", a, b)
		}
	}
	require.True(t, slices.IsSortedFunc(sorted, natural.Compare))
}

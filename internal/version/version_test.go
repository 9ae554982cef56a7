package version

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLinkersVersionGoesFirst(t *testing.T) {
	require.NotEmpty(t, String())
	linked = "1.2.3"
	t.Cleanup(func() { linked = "" })
	require.Equal(t, "1.2.3", String())
}

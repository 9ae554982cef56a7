package timestamp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/timestamp"
)

func ExampleParse() {
	t, err := timestamp.Parse("2026-01-31T12:00:00.5+0100")
	fmt.Println(t.UTC(), err)
	// Output: 2026-01-31 11:00:00.5 +0000 UTC <nil>
}

func TestParse(t *testing.T) {
	want := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{
		"2026-01-31T12:00:00Z", "2026-01-31T12:00:00+00:00", "2026-01-31T12:00:00+0000", "2026-01-31T12:00:00-0000",
		"2026-01-31T13:30:00.000+0130", "2026-01-31T13:30:00+01:30", "2026-01-31T13:30:00 0130", "2026-01-31T08:30:00-0330",
	} {
		got, err := timestamp.Parse(text)
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s is %s", text, got)
	}
	for _, text := range []string{
		"", "now", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31 12:00:00+0000", "2026-01-31T12:00:00+00", "2026-01-31T12:00:00+000",
		"2026-01-31T12:00:00++0000", "2026-01-31T12:00:00+2500", "2026-01-31T-0130", "2026-01-31T12:00-0130",
	} {
		_, err := timestamp.Parse(text)
		require.Error(t, err, text)
	}
}

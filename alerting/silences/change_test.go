package silences_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/silences"
)

func TestASilenceIsChanged(t *testing.T) {
	c := &clock{noon}
	s := newSilences(t, silences.NewMemory(), c.now)
	made, err := s.Create(t.Context(), wanted())
	require.NoError(t, err)
	before, err := s.Index(t.Context())
	require.NoError(t, err)
	n := silences.Silence{SourceType: "*", Pattern: " Line-2* ", Reason: "longer", EndsAt: noon.Add(2 * time.Hour), CreatedBy: "somebody", StartsAt: noon.Add(time.Minute)}
	got, err := s.Change(t.Context(), made.ID, n)
	require.NoError(t, err)
	want := made
	want.SourceType, want.Pattern, want.Reason, want.EndsAt = "*", "Line-2*", "longer", noon.Add(2*time.Hour)
	require.Equal(t, want, got)
	index, err := s.Index(t.Context())
	require.NoError(t, err)
	require.False(t, index.Equal(before), "deliveries that it held back are looked at again")
	_, found := index.Match("Sensor", "Line-1", noon)
	require.False(t, found)
	_, found = index.Match("Equipment", "Line-2", noon.Add(90*time.Minute))
	require.True(t, found)

	for field, bad := range map[string]silences.Silence{
		"reason":   {SourceType: "*", Pattern: "*", EndsAt: noon.Add(time.Hour)},
		"startsAt": {SourceType: "*", Pattern: "*", Reason: "x", EndsAt: noon},
		"endsAt":   {SourceType: "*", Pattern: "*", Reason: "x"},
	} {
		_, err := s.Change(t.Context(), made.ID, bad)
		require.ErrorIs(t, err, silences.ErrInvalid, field)
	}
	c.at = noon.Add(2 * time.Hour)
	_, err = s.Change(t.Context(), made.ID, n)
	require.ErrorIs(t, err, silences.ErrEnded)
	for _, id := range []string{"nothing", "01900000-0000-7000-8000-000000000001"} {
		_, err = s.Change(t.Context(), id, n)
		require.ErrorIs(t, err, silences.ErrNotFound)
	}
}

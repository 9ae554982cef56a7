package hubspart

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// fleet is equipment that a test registers.
type fleet []Registration

func (f *fleet) Registered() []Registration { return *f }
func (f *fleet) IsShell(id string) bool     { return id == "urn:shell" }

func TestEquipmentIsAnnouncedWhenItIsNew(t *testing.T) {
	f := &fleet{{ID: "b1"}}
	a := &equipmentAnnouncer{source: f}
	a.look() // what is there at the start
	require.Empty(t, a.look())
	*f = append(*f, Registration{ID: "b2", Name: "Press"})
	require.Equal(t, []Registration{{ID: "b2", Name: "Press"}}, a.look())
	require.Empty(t, a.look())
	*f = fleet{{ID: "b1"}}
	require.Empty(t, a.look())
	*f = append(*f, Registration{ID: "b2"})
	require.Len(t, a.look(), 1, "it was registered again")

	h := &Hubs{opts: Options{Equipment: []Equipment{f}}}
	require.True(t, h.isAnnounced("urn:shell"))
	require.False(t, h.isAnnounced("urn:other"))
}

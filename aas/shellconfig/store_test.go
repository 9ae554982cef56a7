package shellconfig_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/tags"
)

// device has tags, and counts how often they are asked for.
type device struct {
	list     []tags.Tag
	revision uint64
	asked    int
}

func (d *device) tags() []tags.Tag {
	d.asked++
	return d.list
}

func open(t testing.TB, d *device, file string) *shellconfig.Store {
	s, err := shellconfig.New(shellconfig.Options{File: file, Tags: d.tags, Revision: func() uint64 { return d.revision },
		Default: shellconfig.Config{ID: "urn:press", IDShort: "Press", GlobalAssetID: "urn:asset:press"}})
	require.NoError(t, err)
	return s
}

// A device may be browsed after its shell was named.
func TestSubmodelsThatTagsFillAreActiveUntilTheyAreChosen(t *testing.T) {
	d := &device{}
	file := filepath.Join(t.TempDir(), "aas.json")
	s := open(t, d, file)
	c, _, err := s.Merge(t.Context(), []byte(`{"id":"urn:press:7"}`), nil)
	require.NoError(t, err)
	require.Equal(t, []string{}, c.ActiveSubmodels)
	d.list, d.revision = []tags.Tag{{Name: "p.force", Driver: "p", DataType: tags.Float}}, 1
	s = open(t, d, file)
	c, version := s.Get()
	require.Equal(t, "urn:press:7", c.ID)
	require.Equal(t, []string{"OperationalData", "TimeSeries"}, c.ActiveSubmodels)
	require.Len(t, s.Environment().Submodels, 2)

	_, _, err = s.Merge(t.Context(), []byte(`{"activeSubmodels":["Nameplate"]}`), func(v string) bool { return v == version })
	require.NoError(t, err)
	s = open(t, d, file)
	c, _ = s.Get()
	require.Equal(t, []string{"Nameplate"}, c.ActiveSubmodels)
	env := s.Environment()
	require.Len(t, env.Submodels, 1, "an active submodel is there without elements too")
	require.Equal(t, "urn:press:7:Nameplate", env.Submodels[0].ID)

	_, _, err = s.Merge(t.Context(), []byte(`{"activeSubmodels":["OperationalData"]}`), nil)
	require.NoError(t, err)
	d.list, d.revision = nil, 2
	_, _, err = s.Merge(t.Context(), []byte(`{"idShort":"Press7"}`), nil)
	require.NoError(t, err, "the tags may come back")
	_, _, err = s.Merge(t.Context(), []byte(`{"activeSubmodels":["TimeSeries"]}`), nil)
	require.ErrorIs(t, err, shellconfig.ErrInvalid)
}

func TestTagsAreMappedOnce(t *testing.T) {
	d := &device{}
	s := open(t, d, filepath.Join(t.TempDir(), "aas.json"))
	for range 3 {
		s.Get()
		s.Available()
	}
	require.Equal(t, 1, d.asked)
	d.revision++
	s.Get()
	require.Equal(t, 2, d.asked)
}

func BenchmarkStore100kTags(b *testing.B) {
	d := &device{list: make([]tags.Tag, 100_000)}
	for i := range d.list {
		d.list[i] = tags.Tag{Name: fmt.Sprintf("press.line %d.value", i), Driver: "press", DataType: tags.Float, Unit: "kN"}
	}
	s := open(b, d, filepath.Join(b.TempDir(), "aas.json"))
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Get()
		}
	})
	b.Run("get after a change of tags", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.revision++
			s.Get()
		}
	})
	b.Run("environment", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Environment()
		}
	})
}

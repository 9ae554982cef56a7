package aas_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

// livePump makes a submodel with two live properties, one of them nested, and its store.
func livePump(t testing.TB, source aas.ValueSource) (*aas.Service, *aas.Memory) {
	t.Helper()
	store := aas.NewMemory()
	s, err := aas.NewService(store, aas.Options{Values: source})
	require.NoError(t, err)
	c := &aas.Collection{Value: []aas.Element{live("Speed", "speed", "xs:double"), property("Limit", "5")}}
	c.IDShort = "Motor"
	_, err = s.Submodels.Create(t.Context(), newSubmodel("urn:m", "M", c, live("Count", "count", "xs:int")))
	require.NoError(t, err)
	return s, store
}

func storedJSON(t testing.TB, store aas.Store) string {
	t.Helper()
	list, err := store.Get(t.Context(), aas.KindSubmodel, "urn:m")
	require.NoError(t, err)
	require.Len(t, list, 1)
	return string(list[0].JSON)
}

// Whatever way a live value comes in, it is not stored, and only those that set values write tags.
func TestLiveValuesAreNotStored(t *testing.T) {
	source := &plant{values: map[string]string{"speed": "12.5", "count": "7"}}
	s, store := livePump(t, source)
	ctx, any := t.Context(), aas.Match{}
	before := storedJSON(t, store)
	unmoved := func(what string) {
		t.Helper()
		require.JSONEq(t, before, storedJSON(t, store), what)
		require.Zero(t, source.writes, what)
	}
	require.NotContains(t, before, `"value":"0"`)

	m, err := s.Submodels.Get(ctx, "urn:m")
	require.NoError(t, err)
	require.Equal(t, "7", *m.Elements[1].(*aas.Property).Value)
	old, err := s.Submodels.Document(ctx, "urn:m")
	require.NoError(t, err)
	d, _, err := s.Submodels.Put(ctx, m, any)
	require.NoError(t, err)
	require.Equal(t, old.Version, d.Version, "what was read is put back: nothing changes")
	require.Equal(t, "7", *m.Elements[1].(*aas.Property).Value, "what is put stays as it is")
	unmoved("Put")
	_, err = s.Submodels.Update(ctx, "urn:m", any, func(v *aas.Submodel) error { v.Elements = m.Elements; return nil })
	require.NoError(t, err)
	unmoved("Update")
	e, _, err := s.Element(ctx, "urn:m", parsePath(t, "Motor"))
	require.NoError(t, err)
	_, _, err = s.PutElement(ctx, "urn:m", parsePath(t, "Motor"), e, any)
	require.NoError(t, err)
	unmoved("PutElement")
	_, err = s.UpdateElement(ctx, "urn:m", parsePath(t, "Count"), any, func(aas.Element) (aas.Element, error) { return live("Count", "count", "xs:int"), nil })
	require.NoError(t, err)
	unmoved("UpdateElement")
	_, err = s.DeleteElement(ctx, "urn:m", parsePath(t, "Count"), any)
	require.NoError(t, err)
	_, err = s.InsertElement(ctx, "urn:m", nil, live("Count", "count", "xs:int"), any)
	require.NoError(t, err)
	unmoved("InsertElement")
	_, err = s.Import(ctx, &aas.Environment{Submodels: []*aas.Submodel{m}}, nil, aas.ImportOptions{Replace: true})
	require.NoError(t, err)
	unmoved("Import")
}

func TestPatchesWriteTags(t *testing.T) {
	source := &plant{values: map[string]string{"speed": "12.5", "count": "7"}}
	s, store := livePump(t, source)
	ctx, any := t.Context(), aas.Match{}
	before := storedJSON(t, store)
	version, err := s.PatchElement(ctx, "urn:m", parsePath(t, "Motor.Speed"), []byte(`{"value":"20.5"}`), any)
	require.NoError(t, err)
	require.Equal(t, "20.5", source.values["speed"])
	require.JSONEq(t, before, storedJSON(t, store), "a live value is no change of the document")
	again, err := s.PatchSubmodel(ctx, "urn:m", []byte(`{"submodelElements":[{"idShort":"Count","value":"9"}]}`), aas.Match{Version: version})
	require.NoError(t, err)
	require.Equal(t, version, again)
	require.Equal(t, "9", source.values["count"])
	require.Equal(t, 2, source.writes)

	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "Count"), []byte(`{"category":"VARIABLE"}`), any)
	require.NoError(t, err)
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "Motor"), []byte(`{"value":[{"idShort":"Limit","value":"6"}]}`), any)
	require.NoError(t, err)
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "Count"), []byte(`{"value":"no number"}`), any)
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "Motor.Limit"), []byte(`{"value":"3","qualifiers":[{"type":"tag","valueType":"xs:string","value":"count"}]}`), any)
	require.NoError(t, err)
	require.Equal(t, 2, source.writes, "what becomes live by the patch has not been written before")
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "Count"), []byte(`{"idShort":"Other"}`), any)
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "None"), []byte(`{}`), any)
	require.ErrorIs(t, err, aas.ErrElementNotFound)
}

func TestLiveValuesNeedASource(t *testing.T) {
	s, store := livePump(t, nil)
	ctx, any := t.Context(), aas.Match{}
	before := storedJSON(t, store)
	_, err := s.SetValue(ctx, "urn:m", parsePath(t, "Count"), []byte(`5`), any)
	require.ErrorIs(t, err, aas.ErrNoValueSource)
	_, err = s.SetValue(ctx, "urn:m", nil, []byte(`{"Motor":{"Speed":1,"Limit":1}}`), any)
	require.ErrorIs(t, err, aas.ErrNoValueSource)
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "Count"), []byte(`{"value":"5"}`), any)
	require.ErrorIs(t, err, aas.ErrNoValueSource)
	require.Equal(t, before, storedJSON(t, store), "nothing of it is stored")
	_, err = s.SetValue(ctx, "urn:m", nil, []byte(`{"Motor":{"Limit":1}}`), any)
	require.NoError(t, err)
}

package repository_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// livePump makes a submodel with two live properties, one of them nested, and its store.
func livePump(t testing.TB, source repository.ValueSource) (*repository.Service, *repository.Memory) {
	t.Helper()
	store := repository.NewMemory()
	s, err := repository.New(store, repository.Options{Values: source})
	require.NoError(t, err)
	c := &aas.Collection{Value: []aas.Element{live("Speed", "speed", "xs:double"), property("Limit", "5")}}
	c.IDShort = "Motor"
	_, err = s.Submodels.Create(t.Context(), newSubmodel("urn:m", "M", c, live("Count", "count", "xs:int")))
	require.NoError(t, err)
	return s, store
}

func storedJSON(t testing.TB, store repository.Store) string {
	t.Helper()
	list, err := store.Get(t.Context(), repository.KindSubmodel, "urn:m")
	require.NoError(t, err)
	require.Len(t, list, 1)
	return string(list[0].JSON)
}

// Whatever way a live value comes in, it is not stored, and only those that set values write tags.
func TestLiveValuesAreNotStored(t *testing.T) {
	source := &plant{values: map[string]string{"speed": "12.5", "count": "7"}}
	s, store := livePump(t, source)
	ctx, any := t.Context(), repository.Match{}
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
	_, err = s.Import(ctx, &aas.Environment{Submodels: []*aas.Submodel{m}}, nil, repository.ImportOptions{Replace: true})
	require.NoError(t, err)
	unmoved("Import")
}

func TestPatchesWriteTags(t *testing.T) {
	source := &plant{values: map[string]string{"speed": "12.5", "count": "7"}}
	s, store := livePump(t, source)
	ctx, any := t.Context(), repository.Match{}
	before := storedJSON(t, store)
	version, err := s.PatchElement(ctx, "urn:m", parsePath(t, "Motor.Speed"), []byte(`{"value":"20.5"}`), any)
	require.NoError(t, err)
	require.Equal(t, "20.5", source.values["speed"])
	require.JSONEq(t, before, storedJSON(t, store), "a live value is no change of the document")
	again, err := s.PatchSubmodel(ctx, "urn:m", []byte(`{"submodelElements":[{"idShort":"Count","value":"9"}]}`), repository.Match{Version: version})
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
	ctx, any := t.Context(), repository.Match{}
	before := storedJSON(t, store)
	_, err := s.SetValue(ctx, "urn:m", parsePath(t, "Count"), []byte(`5`), any)
	require.ErrorIs(t, err, repository.ErrNoValueSource)
	_, err = s.SetValue(ctx, "urn:m", nil, []byte(`{"Motor":{"Speed":1,"Limit":1}}`), any)
	require.ErrorIs(t, err, repository.ErrNoValueSource)
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "Count"), []byte(`{"value":"5"}`), any)
	require.ErrorIs(t, err, repository.ErrNoValueSource)
	require.Equal(t, before, storedJSON(t, store), "nothing of it is stored")
	_, err = s.SetValue(ctx, "urn:m", nil, []byte(`{"Motor":{"Limit":1}}`), any)
	require.NoError(t, err)
}

// A document of somebody else may have a qualifier of the type tag that means no tag of ours.
func TestAValueStaysWhereNothingKnowsTheTag(t *testing.T) {
	ctx, any := t.Context(), repository.Match{}
	for name, source := range map[string]repository.ValueSource{"no source": nil, "another tag": &plant{values: map[string]string{"pump": "1"}}} {
		store := repository.NewMemory()
		s, err := repository.New(store, repository.Options{Values: source})
		require.NoError(t, err)
		power := live("RatedPower", "motor", "xs:double")
		*power.Value = "4.5"
		foreign := newSubmodel("urn:m", "M", power, property("Limit", "5"))
		_, err = s.Import(ctx, &aas.Environment{Submodels: []*aas.Submodel{foreign}}, nil, repository.ImportOptions{})
		require.NoError(t, err)
		shown := func() string {
			t.Helper()
			m, err := s.Submodels.Get(ctx, "urn:m")
			require.NoError(t, err)
			p, err := m.Element(parsePath(t, "RatedPower"))
			require.NoError(t, err)
			return *p.(*aas.Property).Value
		}
		require.Equal(t, "4.5", shown(), name)
		_, err = s.SetValue(ctx, "urn:m", nil, []byte(`{"Limit":6}`), any)
		require.NoError(t, err)
		_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "RatedPower"), []byte(`{"category":"PARAMETER"}`), any)
		require.NoError(t, err)
		require.Equal(t, "4.5", shown(), name)
		for i, write := range []func(*aas.Property) error{
			func(p *aas.Property) error {
				_, _, err := s.PutElement(ctx, "urn:m", parsePath(t, "RatedPower"), p, any)
				return err
			},
			func(p *aas.Property) error {
				_, _, err := s.Submodels.Put(ctx, newSubmodel("urn:m", "M", p), any)
				return err
			},
			func(p *aas.Property) error {
				_, err := s.DeleteElement(ctx, "urn:m", parsePath(t, "RatedPower"), any)
				require.NoError(t, err)
				_, err = s.InsertElement(ctx, "urn:m", nil, p, any)
				return err
			},
		} {
			*power.Value = []string{"5.5", "6.5", "7.5"}[i]
			require.NoError(t, write(power))
			require.Equal(t, *power.Value, shown(), name)
		}
	}
}

// What was stored before a tag of the name came is shown again when the tag is gone, whatever was
// written meanwhile.
func TestATagStandsBeforeTheStoredValue(t *testing.T) {
	source := &plant{values: map[string]string{}}
	s, err := repository.New(repository.NewMemory(), repository.Options{Values: source})
	require.NoError(t, err)
	ctx, any := t.Context(), repository.Match{}
	_, err = s.Submodels.Create(ctx, newSubmodel("urn:m", "M", live("Speed", "speed", "xs:int"), property("Limit", "5")))
	require.NoError(t, err)
	speed := func() *string {
		t.Helper()
		e, _, err := s.Element(ctx, "urn:m", parsePath(t, "Speed"))
		require.NoError(t, err)
		return e.(*aas.Property).Value
	}
	require.Equal(t, "0", *speed())
	source.values["speed"] = ""
	require.Nil(t, speed(), "the tag has no value yet")
	source.values["speed"] = "no number"
	require.Nil(t, speed())
	source.values["speed"] = "7"
	m, err := s.Submodels.Get(ctx, "urn:m")
	require.NoError(t, err)
	require.Equal(t, "7", *m.Elements[0].(*aas.Property).Value)
	*m.Elements[1].(*aas.Property).Value = "6"
	_, _, err = s.Submodels.Put(ctx, m, any)
	require.NoError(t, err)
	_, err = s.Import(ctx, &aas.Environment{Submodels: []*aas.Submodel{m}}, nil, repository.ImportOptions{Replace: true})
	require.NoError(t, err)
	_, err = s.SetValue(ctx, "urn:m", nil, []byte(`{"Speed":8,"Limit":9}`), any)
	require.NoError(t, err)
	require.Equal(t, "8", *speed())
	delete(source.values, "speed")
	require.Equal(t, "0", *speed())
}

// A tag cannot be without a value: null for one is refused, and is not taken for a value that is not there.
func TestNullIsNoLiveValue(t *testing.T) {
	source := &plant{values: map[string]string{"speed": "12.5", "count": "7"}}
	s, store := livePump(t, source)
	ctx, any := t.Context(), repository.Match{}
	before := storedJSON(t, store)
	for path, value := range map[string]string{"Count": `null`, "Motor.Speed": `null`, "Motor": `{"Speed":null,"Limit":6}`, "": `{"Count":null}`} {
		var p aas.Path
		if path != "" {
			p = parsePath(t, path)
		}
		_, err := s.SetValue(ctx, "urn:m", p, []byte(value), any)
		require.ErrorIs(t, err, aas.ErrInvalidRequest, path)
		require.ErrorContains(t, err, "must not be null", path)
	}
	require.Equal(t, before, storedJSON(t, store), "nothing of it is stored")
	require.Zero(t, source.writes)
	_, err := s.SetValue(ctx, "urn:m", nil, []byte(`{"Motor":{"Limit":null}}`), any)
	require.NoError(t, err)
	require.Zero(t, source.writes)
}

// storedValue returns the value of a property of urn:m as the store has it.
func storedValue(t testing.TB, store repository.Store, path string) string {
	t.Helper()
	m, err := aas.Decode[aas.Submodel]([]byte(storedJSON(t, store)))
	require.NoError(t, err)
	e, err := m.Element(parsePath(t, path))
	require.NoError(t, err)
	value := e.(*aas.Property).Value
	require.NotNil(t, value, path)
	return *value
}

// A change that is not about the value of a property leaves the one that it was stored with, whether its tag
// is known, becomes another or is taken away.
func TestAStoredValueOutlivesItsTag(t *testing.T) {
	const (
		another = `{"qualifiers":[{"type":"tag","valueType":"xs:string","value":"other"}]}`
		known   = `{"qualifiers":[{"type":"tag","valueType":"xs:string","value":"pump"}]}`
		none    = `{"qualifiers":[]}`
	)
	ctx, any := t.Context(), repository.Match{}
	for _, tag := range []string{"motor", "pump", ""} {
		for _, patch := range []string{another, known, none} {
			source, store := &plant{values: map[string]string{}}, repository.NewMemory()
			s, err := repository.New(store, repository.Options{Values: source})
			require.NoError(t, err)
			start := func() {
				p := property("Power", "4.5")
				if tag != "" {
					p = live("Power", tag, "xs:double")
					*p.Value = "4.5"
				}
				delete(source.values, "pump")
				_, _, err := s.Submodels.Put(ctx, newSubmodel("urn:m", "M", property("Limit", "5"), p), any)
				require.NoError(t, err)
				source.values["pump"] = "1"
				require.Equal(t, "4.5", storedValue(t, store, "Power"))
			}
			start()
			_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "Power"), []byte(patch), any)
			require.NoError(t, err)
			require.Equal(t, "4.5", storedValue(t, store, "Power"), "%s: %s", tag, patch)
			start()
			_, err = s.PatchSubmodel(ctx, "urn:m", []byte(`{"submodelElements":[{"idShort":"Power",`+patch[1:]+`]}`), any)
			require.NoError(t, err)
			require.Equal(t, "4.5", storedValue(t, store, "Power"), "%s: %s", tag, patch)
			start()
			_, err = s.UpdateElement(ctx, "urn:m", parsePath(t, "Power"), any, func(e aas.Element) (aas.Element, error) {
				return e, aas.ApplyElementMetadata(e, []byte(patch))
			})
			require.NoError(t, err)
			require.Equal(t, "4.5", storedValue(t, store, "Power"), "%s: %s", tag, patch)
			require.Zero(t, source.writes)
		}
	}
}

// A stored value that the type of the property cannot hold any more is none of it.
func TestAStoredValueSuitsTheType(t *testing.T) {
	source, store := &plant{values: map[string]string{}}, repository.NewMemory()
	s, err := repository.New(store, repository.Options{Values: source})
	require.NoError(t, err)
	power := live("Power", "pump", "xs:double")
	*power.Value = "4.5"
	_, err = s.Submodels.Create(t.Context(), newSubmodel("urn:m", "M", power))
	require.NoError(t, err)
	source.values["pump"] = "1"
	_, _, err = s.Submodels.Put(t.Context(), newSubmodel("urn:m", "M", live("Power", "pump", "xs:int")), repository.Match{})
	require.NoError(t, err)
	require.NotContains(t, storedJSON(t, store), "4.5")
}

// Entries of a list move: what they were stored with goes along, by whatever way.
func TestAStoredValueMovesWithItsEntry(t *testing.T) {
	ctx, any := t.Context(), repository.Match{}
	list := func(tags ...string) *aas.List {
		l := &aas.List{TypeValueListElement: aas.KindProperty, ValueTypeListElement: "xs:double"}
		for _, tag := range tags {
			l.Value = append(l.Value, live("", tag, "xs:double"))
		}
		l.IDShort = "L"
		return l
	}
	for name, remove := range map[string]func(s *repository.Service) error{
		"DeleteElement": func(s *repository.Service) error {
			_, err := s.DeleteElement(ctx, "urn:m", parsePath(t, "L[0]"), any)
			return err
		},
		"PutElement": func(s *repository.Service) error {
			_, _, err := s.PutElement(ctx, "urn:m", parsePath(t, "L"), list("tb", "tc"), any)
			return err
		},
		"Put": func(s *repository.Service) error {
			_, _, err := s.Submodels.Put(ctx, newSubmodel("urn:m", "M", list("tb", "tc")), any)
			return err
		},
	} {
		source, store := &plant{values: map[string]string{}}, repository.NewMemory()
		s, err := repository.New(store, repository.Options{Values: source})
		require.NoError(t, err)
		l := list("ta", "tb", "tc")
		for i, value := range []string{"1.5", "2.5", "3.5"} {
			*l.Value[i].(*aas.Property).Value = value
		}
		_, err = s.Submodels.Create(ctx, newSubmodel("urn:m", "M", l))
		require.NoError(t, err)
		source.values["tb"], source.values["tc"] = "7", "8"
		require.NoError(t, remove(s), name)
		require.Equal(t, "2.5", storedValue(t, store, "L[0]"), name)
		require.Equal(t, "3.5", storedValue(t, store, "L[1]"), name)

		// Another property with the tag of one that stays has nothing of it.
		_, err = s.InsertElement(ctx, "urn:m", nil, live("New", "tb", "xs:double"), any)
		require.NoError(t, err)
		require.Equal(t, "2.5", storedValue(t, store, "L[0]"), name)
		e, _, err := s.Element(ctx, "urn:m", parsePath(t, "New"))
		require.NoError(t, err)
		require.Equal(t, "7", *e.(*aas.Property).Value)
		delete(source.values, "tb")
		e, _, err = s.Element(ctx, "urn:m", parsePath(t, "New"))
		require.NoError(t, err)
		require.Nil(t, e.(*aas.Property).Value, name)
	}
}

// The values of variables are defaults, which a tag does not take away either.
func TestAVariableKeepsItsStoredValue(t *testing.T) {
	ctx, source, store := t.Context(), &plant{values: map[string]string{}}, repository.NewMemory()
	s, err := repository.New(store, repository.Options{Values: source})
	require.NoError(t, err)
	speed := live("Speed", "speed", "xs:double")
	*speed.Value = "4.5"
	o := &aas.Operation{InputVariables: []aas.Element{speed}}
	o.IDShort = "Start"
	_, err = s.Submodels.Create(ctx, newSubmodel("urn:m", "M", o, property("Limit", "5")))
	require.NoError(t, err)
	source.values["speed"] = "7"
	_, err = s.SetValue(ctx, "urn:m", nil, []byte(`{"Limit":6}`), repository.Match{})
	require.NoError(t, err)
	require.Equal(t, "4.5", storedValue(t, store, "Start.Speed"))
}

package aastest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/stretchr/testify/require"
)

// kept is a document that an ElementStore keeps apart, as it should be.
type kept struct {
	head, tail string
	elements   []aas.DividedElement
	count      int
}

func (k *kept) document() repository.Document {
	d := repository.Document{Kind: repository.KindSubmodel, ID: "urn:apart", IDShort: "Apart", Terms: []repository.Term{{Name: "type", Value: "apart"}},
		Divided: &repository.Divided{Divided: aas.Divided{Head: []byte(k.head), Tail: []byte(k.tail), Elements: k.elements}, Count: k.count, Entries: 3 * k.count}}
	d.JSON = []byte(k.head)
	for i, e := range k.elements {
		if i > 0 {
			d.JSON = append(d.JSON, ',')
		}
		d.JSON = append(d.JSON, e.JSON...)
	}
	d.JSON = append(d.JSON, k.tail...)
	return d
}

func (k *kept) at(idShort string) int {
	for i, e := range k.elements {
		if e.IDShort == idShort {
			return i
		}
	}
	return -1
}

// change makes a change as a store should.
func (k *kept) change(idShort string, text []byte) {
	switch i := k.at(idShort); {
	case i < 0:
		k.elements = append(k.elements, aas.DividedElement{IDShort: idShort, JSON: text})
	case text == nil:
		k.elements = append(k.elements[:i:i], k.elements[i+1:]...)
	default:
		k.elements[i].JSON = text
	}
}

func keptElement(idShort string, size int) []byte {
	return fmt.Appendf(nil, `{"idShort":%q,"x":"%s"}`, idShort, strings.Repeat("ä", size))
}

func newKept(count int) *kept {
	k := &kept{head: `{"id":"urn:apart","quote":"\"","submodelElements":[`, tail: `],"more":1}`, count: count}
	for i := range count {
		name := fmt.Sprintf("Element%d", i)
		k.elements = append(k.elements, aas.DividedElement{IDShort: name, JSON: keptElement(name, i%200)})
	}
	return k
}

// elementStore returns the store if it is one that keeps elements apart.
func (s *store) elementStore(t *testing.T) repository.ElementStore {
	t.Helper()
	e, ok := s.Store.(repository.ElementStore)
	if !ok {
		t.Skip("the store is no repository.ElementStore")
	}
	return e
}

// same checks that a document is read as it should be, in every way.
func (k *kept) same(t *testing.T, s *store, version uint64) {
	t.Helper()
	want := k.document()
	want.Version, want.Terms, want.Divided = version, nil, nil
	require.Equal(t, []repository.Document{want}, s.get(t, want.Kind, want.ID))
	for _, q := range []repository.Query{{}, {IDShort: "Apart"}, {Terms: []repository.Term{{Name: "type", Value: "apart"}}}, {MaxBytes: 1}} {
		q.Kind, q.Limit = want.Kind, 1
		require.Equal(t, []repository.Document{want}, s.find(t, q).Documents)
	}
}

func testElements(t *testing.T, s *store) {
	store, k := s.elementStore(t), newKept(2000)
	k.change("Element7", keptElement("Element7", 40_000))
	k.elements[1500].IDShort = "Element3" // the first one counts
	s.put(t, k.document())
	k.same(t, s, 1)
	version := uint64(1)
	element := func(name string) (repository.Document, string) {
		t.Helper()
		d, ok, err := store.Element(t.Context(), repository.KindSubmodel, "urn:apart", name)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, version, d.Version)
		require.Nil(t, d.JSON)
		require.Equal(t, k.head, string(d.Divided.Head))
		require.Equal(t, k.tail, string(d.Divided.Tail))
		require.Equal(t, k.count, d.Divided.Count)
		require.Equal(t, 3*k.count, d.Divided.Entries)
		if len(d.Divided.Elements) == 0 {
			return d, ""
		}
		require.Len(t, d.Divided.Elements, 1)
		require.Equal(t, name, d.Divided.Elements[0].IDShort)
		return d, string(d.Divided.Elements[0].JSON)
	}
	change := func(name string, text []byte) {
		t.Helper()
		k.change(name, text)
		k.count++
		now, err := store.WriteElement(t.Context(), repository.ElementChange{Kind: repository.KindSubmodel, ID: "urn:apart", Version: version, IDShort: name, JSON: text, Count: k.count, Entries: 3 * k.count})
		require.NoError(t, err)
		version++
		require.Equal(t, version, now)
		_, got := element(name)
		if i := k.at(name); i < 0 {
			require.Empty(t, got)
		} else {
			require.Equal(t, string(k.elements[i].JSON), got)
		}
	}
	_, missing := element("None")
	require.Empty(t, missing)
	change("Element3", keptElement("Element3", 5))
	change("Element3", nil)
	change("Element3", nil) // the second of the name
	change("Element3", keptElement("Element3", 6))
	change("Element0", nil)
	change("Element1999", nil)
	change("", keptElement("", 1))
	k.same(t, s, version)
	for i := range 60 { // of one chunk, which grows
		change(fmt.Sprintf("Element%d", 100+i), keptElement("grown", 3000))
	}
	for i := range 40 {
		change(fmt.Sprintf("Element%d", 200+i), nil)
	}
	k.same(t, s, version)

	_, err := store.WriteElement(t.Context(), repository.ElementChange{Kind: repository.KindSubmodel, ID: "urn:apart", Version: version - 1, IDShort: "Element9", JSON: []byte("{}")})
	var mismatch *repository.MismatchError
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, repository.MismatchError{Version: version}, *mismatch)
	_, err = store.WriteElement(t.Context(), repository.ElementChange{Kind: repository.KindSubmodel, ID: "urn:none", Version: 1, IDShort: "Element9", JSON: []byte("{}")})
	require.ErrorAs(t, err, &mismatch)
	require.Zero(t, mismatch.Version)
	k.same(t, s, version)

	k = newKept(50) // the whole is replaced, with conditions and without
	s.put(t, k.document())
	k.same(t, s, version+1)
	k.elements[3].JSON = keptElement("Element3", 7000)
	_, err = s.Write(t.Context(), changes(repository.Match{Version: version + 1}, k.document()))
	require.NoError(t, err)
	k.same(t, s, version+2)
}

// testElementsGrow adds far more elements than a document was written with.
func testElementsGrow(t *testing.T, s *store) {
	store, k := s.elementStore(t), newKept(2)
	s.put(t, k.document())
	for i := range 2200 {
		name := fmt.Sprintf("Added%d", i)
		text := keptElement(name, 1)
		_, err := store.WriteElement(t.Context(), repository.ElementChange{Kind: repository.KindSubmodel, ID: "urn:apart", Version: uint64(i + 1), IDShort: name, JSON: text, Count: 2})
		require.NoError(t, err)
		k.elements = append(k.elements, aas.DividedElement{IDShort: name, JSON: text})
	}
	k.same(t, s, 2201)
}

// testElementsOnly keeps the only element.
func testElementsOnly(t *testing.T, s *store) {
	store, k := s.elementStore(t), newKept(2)
	s.put(t, k.document())
	remove := func(name string, version uint64) error {
		_, err := store.WriteElement(t.Context(), repository.ElementChange{Kind: repository.KindSubmodel, ID: "urn:apart", Version: version, IDShort: name, Count: 1})
		return err
	}
	require.NoError(t, remove("Element0", 1))
	var mismatch *repository.MismatchError
	require.ErrorAs(t, remove("Element1", 2), &mismatch)
	require.Equal(t, uint64(2), mismatch.Version)
	k.change("Element0", nil)
	k.same(t, s, 2)
}

// testElementsApartAndWhole has a document that is kept apart, whole and apart again, and is then gone.
func testElementsApartAndWhole(t *testing.T, s *store) {
	store, k := s.elementStore(t), newKept(300)
	whole := k.document()
	whole.Divided = nil
	version := uint64(0)
	for range 2 {
		for _, d := range []repository.Document{k.document(), whole} {
			for _, m := range []repository.Match{{}, {Version: version + 1}} {
				_, err := s.Write(t.Context(), changes(m, d))
				require.NoError(t, err)
				version++
				k.same(t, s, version)
				got, ok, err := store.Element(t.Context(), d.Kind, d.ID, "Element5")
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, d.Divided == nil, got.Divided == nil)
				require.Equal(t, d.Divided == nil, got.JSON != nil)
			}
		}
	}
	_, err := store.WriteElement(t.Context(), repository.ElementChange{Kind: whole.Kind, ID: whole.ID, Version: version, IDShort: "Element5", JSON: []byte("{}")})
	var mismatch *repository.MismatchError
	require.ErrorAs(t, err, &mismatch, "it is not kept apart")
	k.same(t, s, version)
	s.put(t, k.document())
	s.remove(t, whole.Kind, whole.ID)
	_, ok, err := store.Element(t.Context(), whole.Kind, whole.ID, "Element5")
	require.NoError(t, err)
	require.False(t, ok)
	s.put(t, newKept(3).document())
	newKept(3).same(t, s, 1)
}

// testServiceEntries lets a submodel grow by elements until it has all the entries that can be read.
func testServiceEntries(t *testing.T, s *store) {
	service, err := repository.New(s.Store, repository.Options{})
	require.NoError(t, err)
	reference := func(name string) aas.Element {
		e := &aas.ReferenceElement{Value: &aas.Reference{Type: aas.ModelReference, Keys: []aas.Key{{Type: aas.KeySubmodel, Value: "a"}}}}
		for range aas.MaxEntries / 3 {
			e.Value.Keys = append(e.Value.Keys, aas.Key{Type: aas.KeyType(aas.KindProperty), Value: "a"})
		}
		e.IDShort = name
		return e
	}
	m := &aas.Submodel{Identifiable: aas.Identifiable{ID: "urn:m"}, Elements: []aas.Element{reference("Name0"), &aas.Capability{}}}
	m.Elements[1].Common().IDShort = "Capability"
	_, err = service.Submodels.Create(t.Context(), m)
	require.NoError(t, err)
	_, err = service.InsertElement(t.Context(), m.ID, nil, reference("Name1"), repository.Match{})
	require.NoError(t, err)
	_, err = service.InsertElement(t.Context(), m.ID, nil, reference("Name2"), repository.Match{})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	_, err = service.Submodels.Get(t.Context(), m.ID)
	require.NoError(t, err)
	_, err = service.DeleteElement(t.Context(), m.ID, aas.Path{{IDShort: "Name0"}}, repository.Match{})
	require.NoError(t, err)
	_, err = service.InsertElement(t.Context(), m.ID, nil, reference("Name2"), repository.Match{})
	require.NoError(t, err)
}

// testServiceLastElement lets a submodel grow and loses its elements one by one.
func testServiceLastElement(t *testing.T, s *store) {
	service, err := repository.New(s.Store, repository.Options{})
	require.NoError(t, err)
	m := &aas.Submodel{Identifiable: aas.Identifiable{ID: "urn:m"}}
	_, err = service.Submodels.Create(t.Context(), m)
	require.NoError(t, err)
	for range 2 {
		for i := range 100 {
			p := &aas.Property{ValueType: aas.String, Value: new(strings.Repeat("x", 1000))}
			p.IDShort = fmt.Sprintf("Name%d", i)
			_, err := service.InsertElement(t.Context(), m.ID, nil, p, repository.Match{})
			require.NoError(t, err)
		}
		for i := range 100 {
			_, err := service.DeleteElement(t.Context(), m.ID, aas.Path{{IDShort: fmt.Sprintf("Name%d", i)}}, repository.Match{})
			require.NoError(t, err)
		}
		got, err := service.Submodels.Get(t.Context(), m.ID)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

// testServiceElements makes the same calls over the store and over one in memory. A submodel is the same after each.
func testServiceElements(t *testing.T, s *store) {
	const id = "urn:m"
	random := rand.New(rand.NewPCG(1, 2))
	var services [2]*repository.Service
	for i, over := range []repository.Store{s.Store, repository.NewMemory()} {
		service, err := repository.New(over, repository.Options{})
		require.NoError(t, err)
		services[i] = service
	}
	property := func(name string) aas.Element {
		p := &aas.Property{ValueType: "xs:int", Value: new(fmt.Sprint(random.IntN(1000)))}
		p.IDShort = name
		if random.IntN(20) == 0 {
			p.Category = "CONSTANT"
			p.Description = []aas.LangString{{Language: "en", Text: strings.Repeat("x", 1000)}}
		}
		return p
	}
	m := &aas.Submodel{Identifiable: aas.Identifiable{ID: id}}
	for i := range 1500 {
		name := fmt.Sprintf("Name%d", i)
		if i%10 != 0 {
			m.Elements = append(m.Elements, property(name))
			continue
		}
		c := &aas.Collection{Value: []aas.Element{property("Aa"), &aas.List{TypeValueListElement: aas.KindProperty, ValueTypeListElement: "xs:int", Value: []aas.Element{property(""), property("")}}}}
		c.Value[1].Common().IDShort, c.IDShort = "Ll", name
		m.Elements = append(m.Elements, c)
	}
	for _, service := range services {
		_, err := service.Submodels.Create(t.Context(), m)
		require.NoError(t, err)
	}
	for n := range 400 {
		name := fmt.Sprintf("Name%d", random.IntN(1600))
		path := aas.Path{{IDShort: name}}
		in := [...]aas.Path{path, append(path, aas.PathStep{IDShort: "Aa"}), append(path, aas.PathStep{IDShort: "Ll"}, aas.PathStep{Index: random.IntN(3)})}[random.IntN(3)]
		what, added, value := random.IntN(5), property(in.Leaf().IDShort), fmt.Sprint(random.IntN(100))
		var errs [2]error
		for i, service := range services {
			switch what {
			case 0:
				_, errs[i] = service.SetValue(t.Context(), id, in, []byte(value), repository.Match{})
			case 1:
				_, _, errs[i] = service.PutElement(t.Context(), id, in, added, repository.Match{})
			case 2:
				_, errs[i] = service.DeleteElement(t.Context(), id, in, repository.Match{})
			case 3:
				_, errs[i] = service.InsertElement(t.Context(), id, in.Parent(), added, repository.Match{})
			case 4:
				_, errs[i] = service.PatchElement(t.Context(), id, in, []byte(`{"modelType":"Property","valueType":"xs:int","category":"no category"}`), repository.Match{})
			}
		}
		require.Equal(t, fmt.Sprint(errs[1]), fmt.Sprint(errs[0]), "call %d of kind %d at %s", n, what, in)
		if n%20 == 0 {
			sameSubmodel(t, id, services)
		}
	}
	sameSubmodel(t, id, services)

	m, err := services[0].Submodels.Get(t.Context(), id)
	require.NoError(t, err)
	bad := &aas.Property{ValueType: "xs:int", Value: new("no number")}
	_, _, err = services[0].PutElement(t.Context(), id, aas.Path{{IDShort: m.Elements[1000].Common().IDShort}}, bad, repository.Match{})
	require.ErrorContains(t, err, "submodelElements[1000].value")
	bad.IDShort = "Added"
	_, err = services[0].InsertElement(t.Context(), id, nil, bad, repository.Match{})
	require.ErrorContains(t, err, fmt.Sprintf("submodelElements[%d].value", len(m.Elements)))
	sameSubmodel(t, id, services)
	wholeBefore(t, s, services[0], m)
}

// wholeBefore changes an element of a large submodel that was written without Divided.
func wholeBefore(t *testing.T, s *store, service *repository.Service, m *aas.Submodel) {
	t.Helper()
	m.ID = "urn:before"
	s.put(t, repository.Document{Kind: repository.KindSubmodel, ID: m.ID, JSON: aas.Append(nil, m)})
	name := m.Elements[1].Common().IDShort
	for _, change := range []func(value aas.Element) error{
		func(value aas.Element) error {
			m.Elements[1] = value
			_, _, err := service.PutElement(t.Context(), m.ID, aas.Path{{IDShort: name}}, value, repository.Match{})
			return err
		},
		func(value aas.Element) error {
			value.Common().IDShort = "Added"
			m.Elements = append(m.Elements, value)
			_, err := service.InsertElement(t.Context(), m.ID, nil, value, repository.Match{})
			return err
		},
	} {
		p := &aas.Property{ValueType: "xs:int", Value: new("-1")}
		p.IDShort = name
		require.NoError(t, change(p))
		d, err := service.Submodels.Document(t.Context(), m.ID)
		require.NoError(t, err)
		require.Equal(t, string(aas.Append(nil, m)), string(d.JSON))
	}
	if e, ok := s.Store.(repository.ElementStore); ok {
		d, _, err := e.Element(t.Context(), repository.KindSubmodel, m.ID, name)
		require.NoError(t, err)
		require.NotNil(t, d.Divided, "its first change has taken it apart")
	}
}

func sameSubmodel(t *testing.T, id string, services [2]*repository.Service) {
	t.Helper()
	var texts [2]string
	for i, service := range services {
		d, err := service.Submodels.Document(t.Context(), id)
		require.NoError(t, err)
		texts[i] = string(d.JSON)
		_, err = aas.Decode[aas.Submodel](d.JSON)
		require.NoError(t, err)
	}
	require.Equal(t, texts[1], texts[0])
}

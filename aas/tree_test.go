package aas_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

func TestPathsAreReadAndWritten(t *testing.T) {
	p := path(t, "a.b[2][10].c")
	require.Equal(t, aas.Path{{IDShort: "a"}, {IDShort: "b"}, {Index: 2}, {Index: 10}, {IDShort: "c"}}, p)
	require.Equal(t, "a.b[2][10].c", p.String())
	require.Equal(t, "a.b[2][10]", p.Parent().String())
	require.Equal(t, aas.PathStep{IDShort: "c"}, p.Leaf())
	require.Empty(t, path(t, "a").Parent())
	require.Empty(t, aas.Path(nil).Parent())
	require.Equal(t, "Gewicht-2_ü", path(t, "Gewicht-2_ü").String())
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", "[0]", "a[", "a[]", "a[-1]", "a[01]", "a[+1]", "a[1", "a[1]b", "a]", "a b", "a\x00", "a[99999999999]", "\xff",
		strings.Repeat("a", 20_000), "a" + strings.Repeat("[0]", 500)} {
		_, err := aas.ParsePath(bad)
		require.ErrorIs(t, err, aas.ErrInvalidRequest, bad)
	}
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"a", "a.b[2].c", "a[0][1]", "a..b", "[0]", "a[01]"} {
		f.Add(seed)
	}
	s := submodel(f, everything)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := aas.ParsePath(text)
		if err != nil {
			require.ErrorIs(t, err, aas.ErrInvalidRequest)
			return
		}
		require.Equal(t, text, p.String())
		if _, err := s.Element(p); err != nil {
			require.ErrorIs(t, err, aas.ErrElementNotFound)
		}
	})
}

func TestElementsAreFoundByPath(t *testing.T) {
	s := submodel(t, everything)
	for text, want := range map[string]aas.ElementKind{
		"p": aas.KindProperty, "c.inner": aas.KindProperty, "c.deeper.low": aas.KindCapability, "l": aas.KindList, "l[1]": aas.KindProperty,
		"e.st": aas.KindProperty, "ann.why": aas.KindProperty, "op.in": aas.KindProperty, "op.out": aas.KindProperty, "op.io": aas.KindProperty,
	} {
		e, err := s.Element(path(t, text))
		require.NoError(t, err, text)
		require.Equal(t, want, e.ElementKind(), text)
	}
	for _, text := range []string{"x", "p.x", "p[0]", "l[2]", "l.x", "c[0]", "c.deeper.low.x"} {
		_, err := s.Element(path(t, text))
		require.ErrorIs(t, err, aas.ErrElementNotFound, text)
		require.ErrorContains(t, err, text)
	}
	_, err := s.Element(nil)
	require.ErrorIs(t, err, aas.ErrElementNotFound)
}

func TestElementsAreInsertedReplacedAndRemoved(t *testing.T) {
	s := submodel(t, everything)
	fresh := func(name string) aas.Element {
		return &aas.Property{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: name}}, ValueType: aas.String}
	}
	for _, parent := range []string{"", "c", "c.deeper", "e", "ann", "l"} {
		var p aas.Path
		if parent != "" {
			p = path(t, parent)
		}
		require.NoError(t, s.Insert(p, fresh("added")), parent)
	}
	for _, where := range []string{"added", "c.added", "c.deeper.added", "e.added", "ann.added", "l[2]"} {
		_, err := s.Element(path(t, where))
		require.NoError(t, err, where)
	}
	require.ErrorIs(t, s.Insert(nil, fresh("p")), aas.ErrElementExists)
	require.ErrorIs(t, s.Insert(path(t, "c"), fresh("inner")), aas.ErrElementExists)
	require.ErrorIs(t, s.Insert(path(t, "nowhere"), fresh("a")), aas.ErrElementNotFound)
	require.ErrorIs(t, s.Insert(path(t, "p"), fresh("a")), aas.ErrInvalidRequest)
	require.ErrorIs(t, s.Insert(nil, fresh("")), aas.ErrInvalidRequest)
	require.ErrorContains(t, s.Insert(path(t, "l"), &aas.Capability{}), "AASd-108")
	require.ErrorIs(t, s.Insert(path(t, "ann"), &aas.Capability{}), aas.ErrInvalidRequest)

	require.NoError(t, s.Replace(path(t, "c.inner"), &aas.Capability{}))
	replaced, err := s.Element(path(t, "c.inner"))
	require.NoError(t, err)
	require.Equal(t, aas.KindCapability, replaced.ElementKind())
	require.ErrorIs(t, s.Replace(path(t, "c.inner"), fresh("other")), aas.ErrInvalidRequest)
	require.ErrorIs(t, s.Replace(path(t, "c.other"), fresh("other")), aas.ErrElementNotFound)
	require.NoError(t, s.Replace(path(t, "l[0]"), fresh("")))
	require.ErrorIs(t, s.Replace(path(t, "l[0]"), &aas.Capability{}), aas.ErrInvalidRequest)

	for _, where := range []string{"c.inner", "l[0]", "op.out", "p"} {
		require.NoError(t, s.Remove(path(t, where)), where)
	}
	require.ErrorIs(t, s.Remove(path(t, "p")), aas.ErrElementNotFound)
	list, err := s.Element(path(t, "l"))
	require.NoError(t, err)
	require.Len(t, list.(*aas.List).Value, 2)
}

func TestWalkAndPaths(t *testing.T) {
	s := submodel(t, everything)
	var walked []string
	s.Walk(func(p aas.Path, e aas.Element) bool {
		walked = append(walked, p.String())
		found, err := s.Element(p)
		require.NoError(t, err)
		require.Same(t, e.Common(), found.Common())
		return p.String() != "c"
	})
	require.Equal(t, strings.Fields("p m r re rel ann ann.why b f c l l[0] l[1] e e.st op op.in op.out op.io cap ev"), walked)
	require.Equal(t, strings.Fields("p m r re rel ann ann.why b f c c.inner c.deeper c.deeper.low l l[0] l[1] e e.st op cap ev"), s.Paths(aas.Deep))
	require.Equal(t, strings.Fields("p m r re rel ann b f c l e op cap ev"), s.Paths(aas.Core))

	c, err := s.Element(path(t, "c"))
	require.NoError(t, err)
	require.Equal(t, []string{"c", "c.inner", "c.deeper", "c.deeper.low"}, aas.ElementPaths(path(t, "c"), c, aas.Deep))
	require.Equal(t, []string{"c", "c.inner", "c.deeper"}, aas.ElementPaths(path(t, "c"), c, aas.Core))
	require.Equal(t, []string{"p"}, aas.ElementPaths(path(t, "p"), s.Elements[0], aas.Deep))
}

func TestReferences(t *testing.T) {
	s := submodel(t, everything)
	r, err := s.ReferenceTo(path(t, "l[1]"))
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:s"},{"type":"SubmodelElementList","value":"l"},{"type":"Property","value":"1"}]}`, string(aas.Append(nil, &r)))
	r, err = s.ReferenceTo(nil)
	require.NoError(t, err)
	require.Equal(t, aas.RefTo("urn:s"), r)
	_, err = s.ReferenceTo(path(t, "l[2]"))
	require.ErrorIs(t, err, aas.ErrElementNotFound)
}

func TestCoreLevelLeavesOutGrandchildren(t *testing.T) {
	s := submodel(t, everything)
	core := submodel(t, string(aas.AppendView(nil, s, aas.View{Level: aas.Core})))
	require.Equal(t, s.Paths(aas.Core), core.Paths(aas.Deep))
	operation, err := core.Element(path(t, "op.in"))
	require.NoError(t, err, "variables are no children")
	require.Equal(t, aas.KindProperty, operation.ElementKind())
	blob, err := core.Element(path(t, "b"))
	require.NoError(t, err)
	require.Nil(t, blob.(*aas.Blob).Value)

	c, err := s.Element(path(t, "c"))
	require.NoError(t, err)
	c = element(t, string(aas.AppendElementView(nil, c, aas.View{Level: aas.Core})))
	require.Equal(t, []string{"c", "c.inner", "c.deeper"}, aas.ElementPaths(path(t, "c"), c, aas.Deep))
	deep := submodel(t, string(aas.AppendView(nil, s, aas.View{Extent: aas.WithBlobValue})))
	require.Equal(t, s, deep)
	require.True(t, slices.Equal(s.Paths(aas.Deep), deep.Paths(aas.Deep)))
}

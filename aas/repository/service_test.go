package repository_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aastest"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// newService makes a service whose clock stands still, unless it is given one, so that versions begin at 1.
func newService(t testing.TB, o repository.Options) *repository.Service {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return time.UnixMicro(1) }
	}
	s, err := repository.New(repository.NewMemory(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func newShell(id string, submodels ...string) *aas.Shell {
	s := &aas.Shell{}
	s.ID, s.IDShort = id, "Shell"
	s.AssetInformation = aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset:" + id}
	for _, m := range submodels {
		s.Submodels = append(s.Submodels, aas.RefTo(m))
	}
	return s
}

func property(idShort, value string) *aas.Property {
	p := &aas.Property{ValueType: "xs:double", Value: &value}
	p.IDShort = idShort
	return p
}

func newSubmodel(id, idShort string, elements ...aas.Element) *aas.Submodel {
	m := &aas.Submodel{Elements: elements}
	m.ID, m.IDShort = id, idShort
	return m
}

func parsePath(t testing.TB, text string) aas.Path {
	t.Helper()
	p, err := aas.ParsePath(text)
	require.NoError(t, err)
	return p
}

func TestLifeOfADocument(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	sub, err := s.Subscribe(repository.SubscribeOptions{})
	require.NoError(t, err)
	defer sub.Close()

	d, err := s.Shells.Create(ctx, newShell("urn:a"))
	require.NoError(t, err)
	require.EqualValues(t, 1, d.Version)
	_, err = s.Shells.Create(ctx, newShell("urn:a"))
	require.ErrorIs(t, err, repository.ErrShellExists)
	_, created, err := s.Shells.Put(ctx, newShell("urn:b"), repository.Match{})
	require.NoError(t, err)
	require.True(t, created)
	_, _, err = s.Shells.Put(ctx, newShell("urn:c"), repository.Match{Exists: true})
	require.ErrorIs(t, err, repository.ErrShellNotFound)
	_, _, err = s.Shells.Put(ctx, newShell("urn:b"), repository.Match{Absent: true})
	require.ErrorIs(t, err, repository.ErrShellExists)
	d, _, err = s.Shells.Put(ctx, newShell("urn:b", "m"), repository.Match{Version: 1})
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version)
	_, _, err = s.Shells.Put(ctx, newShell("urn:b"), repository.Match{Version: 1})
	require.ErrorIs(t, err, repository.ErrVersionChanged)
	d, _, err = s.Shells.Put(ctx, newShell("urn:b", "m"), repository.Match{})
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version, "what changes nothing is no version")

	_, err = s.Shells.Update(ctx, "urn:b", repository.Match{Version: 1}, func(*aas.Shell) error { t.Error("called"); return nil })
	require.ErrorIs(t, err, repository.ErrVersionChanged)
	_, err = s.Shells.Update(ctx, "urn:b", repository.Match{}, func(v *aas.Shell) error { v.ID = "urn:z"; return nil })
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	require.ErrorIs(t, s.Shells.Delete(ctx, "urn:b", repository.Match{Version: 1}), repository.ErrVersionChanged)
	require.NoError(t, s.Shells.Delete(ctx, "urn:b", repository.Match{}))
	require.ErrorIs(t, s.Shells.Delete(ctx, "urn:b", repository.Match{}), repository.ErrShellNotFound)
	_, err = s.Shells.Get(ctx, "urn:b")
	require.ErrorIs(t, err, repository.ErrShellNotFound)

	events, err := sub.Next(ctx, 0)
	require.NoError(t, err)
	var told []string
	for _, e := range events {
		told = append(told, fmt.Sprintf("%s %s %d", e.Type, e.ID, e.Version))
	}
	require.Equal(t, []string{"created urn:a 1", "created urn:b 1", "updated urn:b 2", "deleted urn:b 0"}, told)
}

func TestIdsThatAreRefused(t *testing.T) {
	s, ctx := newService(t, repository.Options{Verification: repository.VerifyOff}), t.Context()
	for _, id := range []string{"", ".", "..", "a\x00b", "a\nb", "a\xffb", "\u0085", strings.Repeat("x", 2049)} {
		_, err := s.Shells.Create(ctx, newShell(id))
		require.ErrorIs(t, err, aas.ErrInvalidRequest, "%q", id)
		_, err = s.Shells.Get(ctx, id)
		require.ErrorIs(t, err, repository.ErrShellNotFound, "%q", id)
		require.ErrorIs(t, s.Shells.Delete(ctx, id, repository.Match{}), repository.ErrShellNotFound, "%q", id)
	}
	for _, id := range aastest.AwkwardIDs() {
		_, err := s.Shells.Create(ctx, newShell(id))
		require.NoError(t, err, "%.100q", id)
		v, err := s.Shells.Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, id, v.ID)
	}
	for _, bad := range []string{"a\x00b", "a\xffb"} {
		v := newShell("urn:bad")
		v.IDShort = bad
		_, err := s.Shells.Create(ctx, v)
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		v = newShell("urn:bad")
		v.AssetInformation.GlobalAssetID = bad
		_, err = s.Shells.Create(ctx, v)
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		p, err := s.Search(ctx, repository.Search{IDShort: bad, Limit: 1})
		require.NoError(t, err)
		require.Zero(t, p.Total)
	}
}

type findings []fault.Field

func (f findings) Verify(any) []fault.Field { return f }

func TestVerification(t *testing.T) {
	broken := newShell("urn:a")
	broken.AssetInformation.GlobalAssetID = "" // AASd-131
	for mode, refused := range map[repository.Verification]bool{"": true, repository.VerifyStrict: true, repository.VerifyPermissive: false, repository.VerifyOff: false} {
		_, err := newService(t, repository.Options{Verification: mode}).Shells.Create(t.Context(), broken)
		require.Equal(t, refused, errors.Is(err, aas.ErrInvalidRequest), "%s: %v", mode, err)
	}
	s := newService(t, repository.Options{Verifier: findings{{Field: "x", Message: "is wrong"}}})
	_, err := s.Shells.Create(t.Context(), newShell("urn:a"))
	f, ok := fault.From(err)
	require.True(t, ok)
	require.Equal(t, []fault.Field{{Field: "x", Message: "is wrong"}}, f.Fields)
	_, err = repository.New(repository.NewMemory(), repository.Options{Verification: "sometimes"})
	require.Error(t, err)
}

func TestSearchesAndTypes(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	for id, semantic := range map[string]string{
		"n1": "https://admin-shell.io/zvei/nameplate/2/0/Nameplate", "n2": "https://admin-shell.io/zvei/nameplate/3/0",
		"n3": "urn:idta:nameplate:1.0", "n4": "0173-1#01-AHX837#002",
	} {
		m := newSubmodel("urn:"+id, "Data"+id)
		m.SemanticID = aas.Global(semantic)
		_, err := s.Submodels.Create(ctx, m)
		require.NoError(t, err)
		_, err = s.Shells.Create(ctx, newShell("urn:shell:"+id, "urn:"+id))
		require.NoError(t, err)
	}
	total := func(q repository.Search) int {
		q.Limit = 10
		p, err := s.Search(ctx, q)
		require.NoError(t, err)
		require.Len(t, p.Documents, p.Total)
		return p.Total
	}
	require.Equal(t, 3, total(repository.Search{SubmodelType: "NamePlate"}))
	require.Equal(t, 1, total(repository.Search{SubmodelType: "01-AHX837"}))
	require.Equal(t, 1, total(repository.Search{SubmodelType: "DATAN4"}))
	require.Equal(t, 0, total(repository.Search{SubmodelType: "0"}), "a version is no type")
	require.Equal(t, 4, total(repository.Search{IDShort: "HEL", AssetKind: aas.Instance}))
	require.Equal(t, 1, total(repository.Search{GlobalAssetID: "urn:asset:urn:shell:n1"}))
	require.Equal(t, 0, total(repository.Search{AssetKind: aas.Type}))
	_, err := s.Search(ctx, repository.Search{})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)

	require.NoError(t, s.LinkAssets(ctx, "urn:elsewhere", []aas.SpecificAssetID{{Name: "serial", Value: "7"}}))
	ids, more, err := s.LookupShells(ctx, []aas.SpecificAssetID{{Name: "serial", Value: "7"}}, "", 5)
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, []string{"urn:elsewhere"}, ids)
	ids, more, err = s.LookupShells(ctx, nil, "urn:elsewhere", 2)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, []string{"urn:shell:n1", "urn:shell:n2"}, ids)
	links, err := s.AssetLinks(ctx, "urn:elsewhere")
	require.NoError(t, err)
	require.Len(t, links, 1)
	require.NoError(t, s.UnlinkAssets(ctx, "urn:elsewhere"))
	require.ErrorIs(t, s.UnlinkAssets(ctx, "urn:elsewhere"), repository.ErrShellNotFound)
}

// plant is a ValueSource.
type plant struct {
	mu     sync.Mutex
	values map[string]string
	writes int
}

func (p *plant) Values(_ context.Context, names []string) ([]repository.LiveValue, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]repository.LiveValue, len(names))
	for i, n := range names {
		value, known := p.values[n]
		out[i] = repository.LiveValue{Value: value, Known: known, Empty: value == ""}
	}
	return out, nil
}

func (p *plant) Write(_ context.Context, name, value string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values[name] = value
	p.writes++
	return nil
}

// live returns a property that has the value of a tag.
func live(idShort, tag string, kind aas.DataType) *aas.Property {
	p := property(idShort, "0")
	p.ValueType = kind
	p.Qualifiers = []aas.Qualifier{{Type: repository.LiveQualifier, ValueType: "xs:string", Value: &tag}}
	return p
}

func TestLiveValues(t *testing.T) {
	source := &plant{values: map[string]string{"line.speed": "12.5", "line.count": "7.0", "nothing": ""}}
	s, ctx := newService(t, repository.Options{Values: source}), t.Context()
	c := &aas.Collection{Value: []aas.Element{live("Speed", "line.speed", "xs:double"), property("Limit", "5")}}
	c.IDShort = "Motor"
	_, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "Operation", c, live("Count", "line.count", "xs:int"), live("None", "nothing", "xs:int")))
	require.NoError(t, err)

	m, err := s.Submodels.Get(ctx, "urn:m")
	require.NoError(t, err)
	require.Equal(t, "12.5", *m.Elements[0].(*aas.Collection).Value[0].(*aas.Property).Value)
	require.Equal(t, "7", *m.Elements[1].(*aas.Property).Value, "in the form of its type")
	require.Nil(t, m.Elements[2].(*aas.Property).Value)
	page, err := s.Submodels.Find(ctx, repository.Query{Limit: 1})
	require.NoError(t, err)
	require.Contains(t, string(page.Documents[0].JSON), `"12.5"`)

	version, err := s.SetValue(ctx, "urn:m", parsePath(t, "Motor"), []byte(`{"Speed":20.5,"Limit":6}`), repository.Match{})
	require.NoError(t, err)
	require.EqualValues(t, 2, version)
	require.Equal(t, "20.5", source.values["line.speed"])
	e, version, err := s.Element(ctx, "urn:m", parsePath(t, "Motor.Limit"))
	require.NoError(t, err)
	require.Equal(t, "6", *e.(*aas.Property).Value)
	require.EqualValues(t, 2, version)
	version, err = s.SetValue(ctx, "urn:m", parsePath(t, "Count"), []byte(`9`), repository.Match{Version: 2})
	require.NoError(t, err)
	require.EqualValues(t, 2, version, "a live value is no change of the document")
	require.Equal(t, "9", source.values["line.count"])
	_, err = s.SetValue(ctx, "urn:m", parsePath(t, "Count"), []byte(`"x"`), repository.Match{})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	_, err = s.SetValue(ctx, "urn:m", parsePath(t, "Count"), []byte(`1`), repository.Match{Version: 1})
	require.ErrorIs(t, err, repository.ErrVersionChanged)
	require.Equal(t, 2, source.writes)
}

func TestElements(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	_, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "Data", property("A", "1")))
	require.NoError(t, err)
	_, created, err := s.PutElement(ctx, "urn:m", parsePath(t, "B"), property("", "2"), repository.Match{})
	require.NoError(t, err)
	require.True(t, created)
	_, created, err = s.PutElement(ctx, "urn:m", parsePath(t, "B"), property("B", "3"), repository.Match{})
	require.NoError(t, err)
	require.False(t, created)
	_, _, err = s.PutElement(ctx, "urn:m", parsePath(t, "B"), property("C", "3"), repository.Match{})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	_, _, err = s.PutElement(ctx, "urn:m", parsePath(t, "X.Y"), property("Y", "3"), repository.Match{})
	require.ErrorIs(t, err, aas.ErrElementNotFound)
	_, err = s.InsertElement(ctx, "urn:m", nil, property("B", "3"), repository.Match{})
	require.ErrorIs(t, err, aas.ErrElementExists)
	_, err = s.InsertElement(ctx, "urn:m", nil, property("D", "no number"), repository.Match{})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	_, err = s.UpdateElement(ctx, "urn:m", parsePath(t, "B"), repository.Match{}, func(e aas.Element) (aas.Element, error) {
		e.Common().Category = "VARIABLE"
		return e, nil
	})
	require.NoError(t, err)
	_, err = s.DeleteElement(ctx, "urn:m", parsePath(t, "A"), repository.Match{})
	require.NoError(t, err)
	_, err = s.DeleteElement(ctx, "urn:m", parsePath(t, "A"), repository.Match{})
	require.ErrorIs(t, err, aas.ErrElementNotFound)
	m, err := s.Submodels.Get(ctx, "urn:m")
	require.NoError(t, err)
	require.Len(t, m.Elements, 1)
	require.Equal(t, "3", *m.Elements[0].(*aas.Property).Value)
	_, _, err = s.Element(ctx, "urn:none", nil)
	require.ErrorIs(t, err, repository.ErrSubmodelNotFound)
}

type provider struct{}

func (provider) Submodels(_ context.Context, shell *aas.Shell) ([]repository.ProvidedSubmodel, error) {
	return []repository.ProvidedSubmodel{{JSON: []byte(`{"submodelType":"X"}`)}, {Submodel: newSubmodel("urn:p:"+shell.ID, "P")}}, nil
}

func TestSubmodelsOfAShell(t *testing.T) {
	s, ctx := newService(t, repository.Options{Providers: []repository.SubmodelProvider{provider{}}}), t.Context()
	_, err := s.Shells.Create(ctx, newShell("urn:a", "urn:m2", "urn:dangling", "urn:m1", "urn:m2"))
	require.NoError(t, err)
	for _, id := range []string{"urn:m1", "urn:m2"} {
		_, err := s.Submodels.Create(ctx, newSubmodel(id, "M"))
		require.NoError(t, err)
	}
	list, err := s.SubmodelsOf(ctx, "urn:a")
	require.NoError(t, err)
	var ids []string
	for _, item := range list {
		require.NotEmpty(t, item.Document.JSON)
		ids = append(ids, item.Document.ID)
	}
	require.Equal(t, []string{"urn:m2", "urn:m1", "", "urn:p:urn:a"}, ids)
	_, err = s.SubmodelsOf(ctx, "urn:none")
	require.ErrorIs(t, err, repository.ErrShellNotFound)
}

func TestImport(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	name := "/aasx/files/manual.pdf"
	f := &aas.File{Value: &name, ContentType: "application/pdf"}
	f.IDShort = "Manual"
	env := &aas.Environment{Shells: []*aas.Shell{newShell("urn:a", "urn:m")}, Submodels: []*aas.Submodel{newSubmodel("urn:m", "Docs", f)}}
	files := []repository.ImportFile{{Name: name, ContentType: "application/pdf", Data: []byte("%PDF")}, {Name: "/named-by-nobody"}}
	report, err := s.Import(ctx, env, files, repository.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, repository.ImportReport{Created: 2, Files: 2}, report)
	got, err := s.GetFile(ctx, "urn:m", parsePath(t, "Manual"))
	require.NoError(t, err)
	require.Equal(t, "%PDF", string(got.Data))

	_, err = s.Import(ctx, &aas.Environment{Shells: []*aas.Shell{newShell("urn:b"), newShell("urn:a")}}, nil, repository.ImportOptions{})
	require.ErrorIs(t, err, repository.ErrShellExists)
	_, err = s.Shells.Get(ctx, "urn:b")
	require.ErrorIs(t, err, repository.ErrShellNotFound, "all or nothing")
	_, err = s.Import(ctx, &aas.Environment{Shells: []*aas.Shell{newShell("urn:b"), newShell("urn:b"), newShell("")}}, nil, repository.ImportOptions{})
	refused, _ := fault.From(err)
	require.Len(t, refused.Fields, 2)
	require.Equal(t, "assetAdministrationShells[1].id", refused.Fields[0].Field)

	report, err = s.Import(ctx, env, nil, repository.ImportOptions{Replace: true})
	require.NoError(t, err)
	require.Equal(t, 2, report.Replaced)
}

func TestInvoke(t *testing.T) {
	op := &aas.Operation{InputVariables: []aas.Element{property("X", "0")}}
	op.IDShort = "Double"
	other := &aas.Operation{}
	other.IDShort = "Other"
	s, ctx := newService(t, repository.Options{Operations: map[repository.OperationKey]repository.OperationHandler{
		{SubmodelID: "urn:m", Path: "Double"}: repository.OperationFunc(func(_ context.Context, c repository.Invocation) (repository.InvocationResult, error) {
			return repository.InvocationResult{Output: c.Input}, nil
		}),
	}}), t.Context()
	_, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "M", op, other, property("P", "1")))
	require.NoError(t, err)
	result, err := s.Invoke(ctx, "urn:m", parsePath(t, "Double"), []aas.Element{property("X", "4")}, nil)
	require.NoError(t, err)
	require.Len(t, result.Output, 1)
	_, err = s.Invoke(ctx, "urn:m", parsePath(t, "Double"), []aas.Element{property("Y", "4")}, nil)
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	_, err = s.Invoke(ctx, "urn:m", parsePath(t, "Other"), nil, nil)
	require.ErrorIs(t, err, repository.ErrNoHandler)
	_, err = s.Invoke(ctx, "urn:m", parsePath(t, "P"), nil, nil)
	require.ErrorIs(t, err, repository.ErrNotAnOperation)
}

func TestThumbnailsAndLimits(t *testing.T) {
	s, ctx := newService(t, repository.Options{MaxFileBytes: 4}), t.Context()
	_, err := s.Shells.Create(ctx, newShell("urn:a"))
	require.NoError(t, err)
	require.ErrorIs(t, s.PutThumbnail(ctx, "urn:a", "x.png", "image/png", make([]byte, 5), repository.Match{}), repository.ErrFileTooLarge)
	_, err = s.Thumbnail(ctx, "urn:a")
	require.ErrorIs(t, err, repository.ErrFileNotFound)
	require.NoError(t, s.PutThumbnail(ctx, "urn:a", "../../x.png", "image/png", []byte("png"), repository.Match{}))
	f, err := s.Thumbnail(ctx, "urn:a")
	require.NoError(t, err)
	require.Equal(t, "/aasx/thumbnail/x.png", f.Key.Name)
	require.NoError(t, s.PutThumbnail(ctx, "urn:a", "x.png", "image/png", []byte("new"), repository.Match{}))
	f, err = s.Thumbnail(ctx, "urn:a")
	require.NoError(t, err)
	require.Equal(t, "new", string(f.Data))
	require.NoError(t, s.DeleteThumbnail(ctx, "urn:a", repository.Match{}))
	names, err := s.FileNames(ctx, repository.KindShell, "urn:a")
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestSubscriptions(t *testing.T) {
	s, ctx := newService(t, repository.Options{Now: func() time.Time { return time.Unix(7, 0) }}), t.Context()
	slow, err := s.Subscribe(repository.SubscribeOptions{Buffer: 1})
	require.NoError(t, err)
	only, err := s.Subscribe(repository.SubscribeOptions{Kinds: []repository.Kind{repository.KindSubmodel}})
	require.NoError(t, err)
	for _, id := range []string{"a", "b"} {
		_, err = s.Shells.Create(ctx, newShell(id))
		require.NoError(t, err)
	}
	_, err = s.Submodels.Create(ctx, newSubmodel("m", "M", property("P", "1")))
	require.NoError(t, err)
	_, err = s.SetValue(ctx, "m", parsePath(t, "P"), []byte("2"), repository.Match{})
	require.NoError(t, err)
	_, err = slow.Next(ctx, 0)
	require.ErrorIs(t, err, repository.ErrSlowSubscriber)
	events, err := only.Next(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, repository.Created, events[0].Type)
	events, err = only.Next(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, []repository.Event{{Type: repository.ValueChanged, Kind: repository.KindSubmodel, ID: "m", Path: "P", Version: 7_000_001, At: time.Unix(7, 0)}}, events)
	only.Close()
	_, err = only.Next(ctx, 0)
	require.ErrorIs(t, err, repository.ErrClosed)
}

package repository_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// nestedIn returns collections within each other.
func nestedIn(idShort string, levels int) *aas.Collection {
	c := &aas.Collection{}
	for range levels - 1 {
		c.IDShort = "c"
		c = &aas.Collection{Value: []aas.Element{c}}
	}
	c.IDShort = idShort
	return c
}

// Nothing is kept that cannot be read again.
func TestWhatCannotBeReadIsNotKept(t *testing.T) {
	for _, mode := range []repository.Verification{repository.VerifyStrict, repository.VerifyPermissive, repository.VerifyOff} {
		s, ctx := newService(t, repository.Options{Verification: mode}), t.Context()
		_, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "M", nestedIn("c", 60)))
		require.NoError(t, err)
		parent := parsePath(t, "c"+strings.Repeat(".c", 40))
		_, err = s.InsertElement(ctx, "urn:m", parent, nestedIn("x", 50), repository.Match{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		require.ErrorContains(t, err, "64 levels")
		_, _, err = s.PutElement(ctx, "urn:m", append(parent, aas.PathStep{IDShort: "x"}), nestedIn("x", 50), repository.Match{})
		require.ErrorContains(t, err, "64 levels")
		_, err = s.Submodels.Create(ctx, newSubmodel("urn:deep", "M", nestedIn("c", 65)))
		require.ErrorContains(t, err, "64 levels")
		_, err = s.Import(ctx, &aas.Environment{Submodels: []*aas.Submodel{newSubmodel("urn:deep", "M", nestedIn("c", 65))}}, nil, repository.ImportOptions{})
		require.ErrorContains(t, err, "64 levels")
		_, err = s.Submodels.Get(ctx, "urn:m")
		require.NoError(t, err)
		_, err = s.DeleteElement(ctx, "urn:m", parsePath(t, "c"), repository.Match{})
		require.NoError(t, err)

		p := property("P", "1")
		p.ValueType = "xs:nothing"
		_, err = s.InsertElement(ctx, "urn:m", nil, p, repository.Match{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		m := newSubmodel("urn:ref", "M")
		m.SemanticID = &aas.Reference{Type: aas.ExternalReference, Keys: []aas.Key{{Type: "Thing", Value: "x"}}}
		_, err = s.Submodels.Create(ctx, m)
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
	}
}

func TestTheMostElements(t *testing.T) {
	if testing.Short() {
		t.Skip("a document with 200,000 elements")
	}
	s, ctx := newService(t, repository.Options{Verification: repository.VerifyOff}), t.Context()
	m := newSubmodel("urn:m", "M")
	for i := range aas.MaxElements {
		c := &aas.Capability{}
		c.IDShort = fmt.Sprint("e", i)
		m.Elements = append(m.Elements, c)
	}
	_, err := s.Submodels.Create(ctx, m)
	require.NoError(t, err)
	c := &aas.Capability{}
	c.IDShort = "more"
	_, err = s.InsertElement(ctx, "urn:m", nil, c, repository.Match{})
	require.ErrorContains(t, err, "200000 submodel elements")
	_, err = s.Submodels.Get(ctx, "urn:m")
	require.NoError(t, err)
}

func TestWhatIsNotThereIsRefused(t *testing.T) {
	for _, mode := range []repository.Verification{repository.VerifyStrict, repository.VerifyOff} {
		s, ctx := newService(t, repository.Options{Verification: mode}), t.Context()
		_, err := s.Submodels.Create(ctx, nil)
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		_, _, err = s.Shells.Put(ctx, nil, repository.Match{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		_, err = s.Import(ctx, &aas.Environment{Submodels: []*aas.Submodel{nil}}, nil, repository.ImportOptions{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		_, err = s.Submodels.Create(ctx, newSubmodel("urn:m", "Mm", property("Aa", "1")))
		require.NoError(t, err)
		for _, e := range []aas.Element{nil, (*aas.Property)(nil), &aas.List{Value: []aas.Element{nil}}, &aas.Operation{OutputVariables: []aas.Element{nil}}} {
			_, err = s.Submodels.Create(ctx, newSubmodel("urn:nil", "Mm", property("Aa", "1"), e))
			require.ErrorIs(t, err, aas.ErrInvalidRequest)
			require.ErrorContains(t, err, "submodelElements[1]")
			require.ErrorIs(t, newSubmodel("urn:nil", "Mm", e).Validate(), aas.ErrInvalidRequest)
			_, err = s.InsertElement(ctx, "urn:m", nil, e, repository.Match{})
			require.ErrorIs(t, err, aas.ErrInvalidRequest)
			_, _, err = s.PutElement(ctx, "urn:m", parsePath(t, "Aa"), e, repository.Match{})
			require.ErrorIs(t, err, aas.ErrInvalidRequest)
			_, err = s.UpdateElement(ctx, "urn:m", parsePath(t, "Aa"), repository.Match{}, func(aas.Element) (aas.Element, error) { return e, nil })
			require.ErrorIs(t, err, aas.ErrInvalidRequest)
		}
	}
}

// A document that was stored damaged does not take the others with it.
func TestADamagedDocumentIsPassedOver(t *testing.T) {
	var logged bytes.Buffer
	store := repository.NewMemory()
	s, err := repository.New(store, repository.Options{Values: &plant{values: map[string]string{"t": "7"}}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	require.NoError(t, err)
	ctx := t.Context()
	_, err = s.Submodels.Create(ctx, newSubmodel("urn:z", "Z", live("P", "t", "xs:int")))
	require.NoError(t, err)
	damaged := repository.Document{Kind: repository.KindSubmodel, ID: "urn:a", Live: true, JSON: []byte(`{"modelType":"Submodel","id":"urn:a","submodelElements":[{}]}`)}
	_, err = store.Write(ctx, repository.Batch{Changes: []repository.Change{{Document: damaged}}})
	require.NoError(t, err)

	page, err := s.Submodels.Find(ctx, repository.Query{Limit: 5})
	require.NoError(t, err)
	require.Len(t, page.Documents, 2)
	require.Equal(t, string(damaged.JSON), string(page.Documents[0].JSON))
	require.Contains(t, string(page.Documents[1].JSON), `"value":"7"`)
	var ids []string
	for v, err := range s.Submodels.All(ctx, repository.Query{}) {
		require.NoError(t, err)
		ids = append(ids, v.ID)
	}
	require.Equal(t, []string{"urn:z"}, ids)
	require.Contains(t, logged.String(), "level=ERROR")
	require.Contains(t, logged.String(), "urn:a")
	_, err = s.Submodels.Get(ctx, "urn:a")
	require.Equal(t, fault.Internal, fault.KindOf(err))
}

func TestDocumentsAreFoundByABoundedNumberOfFacts(t *testing.T) {
	s, ctx := newService(t, repository.Options{Verification: repository.VerifyOff}), t.Context()
	v := newShell("urn:a")
	for i := range repository.MaxTerms - 2 { // beside the kind and the id of the asset
		v.AssetInformation.SpecificAssetIDs = append(v.AssetInformation.SpecificAssetIDs, aas.SpecificAssetID{Name: "n", Value: fmt.Sprint(i)})
	}
	v.AssetInformation.SpecificAssetIDs = append(v.AssetInformation.SpecificAssetIDs, v.AssetInformation.SpecificAssetIDs...) // repeats are none
	_, err := s.Shells.Create(ctx, v)
	require.NoError(t, err)
	ids, _, err := s.LookupShells(ctx, []aas.SpecificAssetID{{Name: "n", Value: "9997"}}, "", 5)
	require.NoError(t, err)
	require.Equal(t, []string{"urn:a"}, ids)
	v.ID, v.AssetInformation.SpecificAssetIDs[0].Value = "urn:b", "another" // of which the repeat is left
	_, err = s.Shells.Create(ctx, v)
	require.ErrorContains(t, err, "10000")
	require.ErrorContains(t, s.LinkAssets(ctx, "urn:b", append(v.AssetInformation.SpecificAssetIDs, aas.SpecificAssetID{Name: "m", Value: "1"}, aas.SpecificAssetID{Name: "m", Value: "2"}, aas.SpecificAssetID{Name: "m", Value: "3"})), "10000")
}

// A version of a document that was deleted never fits the one that is made again under its id.
func TestVersionsAreNotUsedAgain(t *testing.T) {
	now := time.UnixMicro(1_700_000_000_000_000)
	s, ctx := newService(t, repository.Options{Now: func() time.Time { return now }}), t.Context()
	old, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "Mine"))
	require.NoError(t, err)
	require.EqualValues(t, now.UnixMicro(), old.Version)
	require.NoError(t, s.Submodels.Delete(ctx, "urn:m", repository.Match{Version: old.Version}))
	now = now.Add(time.Second)
	other, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "Others"))
	require.NoError(t, err)
	_, _, err = s.Submodels.Put(ctx, newSubmodel("urn:m", "Mine"), repository.Match{Version: old.Version})
	require.ErrorIs(t, err, repository.ErrVersionChanged)

	sub, err := s.Subscribe(repository.SubscribeOptions{})
	require.NoError(t, err)
	defer sub.Close()
	now = now.Add(time.Second)
	report, err := s.Import(ctx, &aas.Environment{Submodels: []*aas.Submodel{newSubmodel("urn:m", "Again"), newSubmodel("urn:n", "New")}}, nil, repository.ImportOptions{Replace: true})
	require.NoError(t, err)
	require.Equal(t, 1, report.Created)
	require.Equal(t, 1, report.Replaced)
	for range 2 {
		require.NoError(t, s.LinkAssets(ctx, "urn:a", []aas.SpecificAssetID{{Name: "n", Value: "1"}}))
	}
	events, err := sub.Next(ctx, 0)
	require.NoError(t, err)
	var told []string
	for _, e := range events {
		told = append(told, fmt.Sprintf("%s %s %d", e.Type, e.ID, e.Version))
	}
	start := now.UnixMicro()
	require.Equal(t, []string{fmt.Sprintf("updated urn:m %d", other.Version+1), fmt.Sprintf("created urn:n %d", start),
		fmt.Sprintf("created urn:a %d", start), fmt.Sprintf("updated urn:a %d", start+1)}, told)
}

func TestAConditionThatWantsNoDocument(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	none := repository.Match{Absent: true}
	require.ErrorIs(t, s.Submodels.Delete(ctx, "urn:m", none), repository.ErrSubmodelNotFound)
	_, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "M", property("A", "1")))
	require.NoError(t, err)
	require.ErrorIs(t, s.Submodels.Delete(ctx, "urn:m", none), repository.ErrVersionChanged)
	_, err = s.DeleteElement(ctx, "urn:m", parsePath(t, "A"), none)
	require.ErrorIs(t, err, repository.ErrVersionChanged)
	m, err := s.Submodels.Get(ctx, "urn:m")
	require.NoError(t, err)
	require.Len(t, m.Elements, 1)
}

// pages is a store that tells how many bytes it was asked for at once.
type pages struct {
	repository.Store
	bytes int64
}

func (p *pages) Find(ctx context.Context, q repository.Query) (repository.Page, error) {
	p.bytes = q.MaxBytes
	return p.Store.Find(ctx, q)
}

func TestAllReadsPagesOfABoundedSize(t *testing.T) {
	store := &pages{Store: repository.NewMemory()}
	s, err := repository.New(store, repository.Options{})
	require.NoError(t, err)
	for i := range 5 {
		_, err := s.Shells.Create(t.Context(), newShell(fmt.Sprint(i)))
		require.NoError(t, err)
	}
	for want, given := range map[int64]int64{16 << 20: 0, 1: 1} {
		n := 0
		for _, err := range s.Shells.All(t.Context(), repository.Query{MaxBytes: given}) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 5, n)
		require.Equal(t, want, store.bytes)
	}
}

package v1_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	v1 "github.com/otkit/otkit/transport/aasapi/internal/v1"
)

func Example() {
	shell := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:pump"}}
	shell.ID, shell.IDShort = "urn:shell", "Pump"
	doc := &repository.Document{Kind: repository.KindShell, JSON: aas.Append(nil, shell)}
	fmt.Println(string(v1.AppendItem(nil, doc)))

	_, err := v1.Window(1, 101)
	fmt.Println(err)
	// Output:
	// {"id":"urn:shell","idShort":"Pump","assetInformation":{"assetKind":"Instance","globalAssetId":"urn:pump"},"submodels":[]}
	// the request is not valid: pageSize must be 1 to 100
}

// huge is a store whose pages end for their bytes.
type huge struct{ repository.Store }

func (huge) Find(_ context.Context, q repository.Query) (repository.Page, error) {
	d := repository.Document{Kind: q.Kind, ID: "x", JSON: make([]byte, 40<<20)}
	if q.MaxBytes != 16<<20 && q.MaxBytes != 64<<20 {
		return repository.Page{}, errors.New("the page has no bound")
	}
	return repository.Page{Documents: []repository.Document{d, d}[:min(q.Limit, 2)], More: true, Total: 9}, nil
}

func TestAnswersAreBounded(t *testing.T) {
	s, err := repository.New(huge{repository.NewMemory()}, repository.Options{})
	require.NoError(t, err)
	ctx := t.Context()
	_, err = v1.Find(ctx, s.Submodels, repository.Query{Limit: 20})
	require.ErrorIs(t, err, repository.ErrPageTooLarge)
	require.Equal(t, fault.TooLarge, fault.KindOf(err))
	require.ErrorContains(t, err, "use a pageSize of at most 1")
	page, err := v1.Find(ctx, s.Submodels, repository.Query{Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Documents, 2)
	_, err = v1.Search(ctx, s, repository.Search{Limit: 20})
	require.ErrorIs(t, err, repository.ErrPageTooLarge)
	_, err = v1.ByAsset(ctx, s, "urn:asset")
	require.ErrorIs(t, err, repository.ErrPageTooLarge)
}

// full has every member that a shell can have.
const full = `{"modelType":"AssetAdministrationShell","id":"s","idShort":"S","category":"c",
	"extensions":[{"name":"e","refersTo":[{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"x"}]}]}],
	"displayName":[{"language":"de","text":"x"}],"description":[{"language":"de","text":"x"}],
	"administration":{"version":"1","revision":"2"},
	"embeddedDataSpecifications":[{"dataSpecification":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"x"}]},
		"dataSpecificationContent":{"modelType":"DataSpecificationIec61360","preferredName":[{"language":"de","text":"x"}]}}],
	"derivedFrom":{"type":"ModelReference","keys":[{"type":"AssetAdministrationShell","value":"x"}]},
	"assetInformation":{"assetKind":"Type","assetType":"t","specificAssetIds":[{"name":"n","value":"v"}],"defaultThumbnail":{"path":"/x.png"}},
	"submodels":[{"type":"ModelReference","keys":[{"type":"Submodel","value":"m"}]}]}`

func decode(t *testing.T, text string) *aas.Shell {
	t.Helper()
	s, err := aas.Decode[aas.Shell]([]byte(text))
	require.NoError(t, err)
	return s
}

func TestItemsLoseTheirModelTypeAndNothingElse(t *testing.T) {
	kinds := map[repository.Kind][]byte{
		repository.KindShell:              aas.Append(nil, decode(t, full)),
		repository.KindSubmodel:           []byte(`{"modelType":"Submodel","id":"x","submodelElements":[{"modelType":"Capability","idShort":"c"}]}`),
		repository.KindConceptDescription: []byte(`{"modelType":"ConceptDescription","id":"x"}`),
	}
	for kind, doc := range kinds {
		var want, got map[string]any
		require.NoError(t, json.Unmarshal(doc, &want))
		delete(want, "modelType")
		before := string(doc)
		item := v1.AppendItem([]byte("["), &repository.Document{Kind: kind, JSON: doc})
		require.NoError(t, json.Unmarshal(item[1:], &got), "%s", item)
		require.Equal(t, want, got)
		require.Equal(t, before, string(doc), "a document is not to be changed")
	}
}

func TestAShellAlwaysHasSubmodels(t *testing.T) {
	s := decode(t, full)
	for _, assets := range []aas.AssetInformation{s.AssetInformation, {AssetKind: aas.Role, GlobalAssetID: "]"},
		{AssetKind: aas.Type, SpecificAssetIDs: []aas.SpecificAssetID{{Name: "n", Value: "v"}}}} {
		for _, references := range [][]aas.Reference{s.Submodels, nil} {
			c := *s
			c.AssetInformation, c.Submodels = assets, references
			var got struct{ Submodels []any }
			require.NoError(t, json.Unmarshal(v1.AppendDocument(nil, &repository.Document{Kind: repository.KindShell, JSON: aas.Append(nil, &c)}), &got))
			require.NotNil(t, got.Submodels)
			require.Len(t, got.Submodels, len(references))
		}
	}
}

func TestAnUpdateReplacesEveryMemberThatItHas(t *testing.T) {
	// Every member of full goes over to a shell that has none of them.
	_, u, err := v1.ParseUpdate([]byte(full))
	require.NoError(t, err)
	s := decode(t, `{"id":"s","idShort":"Old","assetInformation":{"assetKind":"Instance","globalAssetId":"g"}}`)
	require.NoError(t, u.Apply(s))
	require.JSONEq(t, full, string(aas.Append(nil, s)))

	// And none of them is lost when the update does not have it.
	_, u, err = v1.ParseUpdate([]byte(`{"idShort":"S","assetInformation":{"assetKind":"Type","assetType":"t","specificAssetIds":[{"name":"n","value":"v"}],"defaultThumbnail":{"path":"/x.png"}}}`))
	require.NoError(t, err)
	s = decode(t, full)
	require.NoError(t, u.Apply(s))
	require.JSONEq(t, full, string(aas.Append(nil, s)))
}

func TestPages(t *testing.T) {
	q, err := v1.Window(3, 20)
	require.NoError(t, err)
	require.Equal(t, repository.Query{Offset: 40, Limit: 20, Count: true}, q)
	q, err = v1.Window(math.MaxInt, 100)
	require.NoError(t, err)
	require.Positive(t, q.Offset)
	for _, c := range [][2]int{{0, 20}, {-1, 20}, {1, 0}, {1, 101}, {1, -1}} {
		_, err = v1.Window(c[0], c[1])
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}

// A shell always has submodels, whatever members it has that the metamodel does not have.
func TestUnknownMembersOfAShell(t *testing.T) {
	for _, unknown := range []string{`"odd":1`, `"odd":[1]`} {
		s := aas.Shell{Identifiable: aas.Identifiable{ID: "x", Referable: aas.Referable{Unknown: unknown}}, AssetInformation: aas.AssetInformation{AssetKind: aas.Instance}}
		d := repository.Document{Kind: repository.KindShell, ID: "x", JSON: aas.Append(nil, &s)}
		require.JSONEq(t, `{"modelType":"AssetAdministrationShell","id":"x",`+unknown+`,"assetInformation":{"assetKind":"Instance"},"submodels":[]}`, string(v1.AppendDocument(nil, &d)))
		s.Submodels = []aas.Reference{aas.RefTo("urn:y")}
		d.JSON = aas.Append(nil, &s)
		require.JSONEq(t, string(d.JSON), string(v1.AppendDocument(nil, &d)))
	}
}

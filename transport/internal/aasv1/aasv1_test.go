package aasv1_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/internal/aasv1"
)

func Example() {
	shell := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:pump"}}
	shell.ID, shell.IDShort = "urn:shell", "Pump"
	doc := &aas.Document{Kind: aas.KindShell, JSON: aas.Append(nil, shell)}
	fmt.Println(string(aasv1.AppendItem(nil, doc)))

	_, err := aasv1.Window(1, 101)
	fmt.Println(err)
	// Output:
	// {"id":"urn:shell","idShort":"Pump","assetInformation":{"assetKind":"Instance","globalAssetId":"urn:pump"},"submodels":[]}
	// the request is not valid: pageSize must be 1 to 100
}

// huge is a store whose pages end for their bytes.
type huge struct{ aas.Store }

func (huge) Find(_ context.Context, q aas.Query) (aas.Page, error) {
	d := aas.Document{Kind: q.Kind, ID: "x", JSON: make([]byte, 40<<20)}
	if q.MaxBytes != 64<<20 {
		return aas.Page{}, errors.New("the page has no bound")
	}
	return aas.Page{Documents: []aas.Document{d, d}[:min(q.Limit, 2)], More: true, Total: 9}, nil
}

func TestAnswersAreBounded(t *testing.T) {
	s, err := aas.NewService(huge{aas.NewMemory()}, aas.Options{})
	require.NoError(t, err)
	ctx := t.Context()
	_, err = aasv1.Find(ctx, s.Submodels, aas.Query{Limit: 20})
	require.ErrorIs(t, err, aas.ErrPageTooLarge)
	require.Equal(t, fault.TooLarge, fault.KindOf(err))
	page, err := aasv1.Find(ctx, s.Submodels, aas.Query{Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Documents, 2)
	_, err = aasv1.Search(ctx, s, aas.Search{Limit: 20})
	require.ErrorIs(t, err, aas.ErrPageTooLarge)
	_, err = aasv1.ByAsset(ctx, s, "urn:asset")
	require.ErrorIs(t, err, aas.ErrPageTooLarge)
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
	kinds := map[aas.Kind][]byte{
		aas.KindShell:              aas.Append(nil, decode(t, full)),
		aas.KindSubmodel:           []byte(`{"modelType":"Submodel","id":"x","submodelElements":[{"modelType":"Capability","idShort":"c"}]}`),
		aas.KindConceptDescription: []byte(`{"modelType":"ConceptDescription","id":"x"}`),
	}
	for kind, doc := range kinds {
		var want, got map[string]any
		require.NoError(t, json.Unmarshal(doc, &want))
		delete(want, "modelType")
		before := string(doc)
		item := aasv1.AppendItem([]byte("["), &aas.Document{Kind: kind, JSON: doc})
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
			require.NoError(t, json.Unmarshal(aasv1.AppendDocument(nil, &aas.Document{Kind: aas.KindShell, JSON: aas.Append(nil, &c)}), &got))
			require.NotNil(t, got.Submodels)
			require.Len(t, got.Submodels, len(references))
		}
	}
}

func TestAnUpdateReplacesEveryMemberThatItHas(t *testing.T) {
	// Every member of full goes over to a shell that has none of them.
	_, u, err := aasv1.ParseUpdate([]byte(full))
	require.NoError(t, err)
	s := decode(t, `{"id":"s","idShort":"Old","assetInformation":{"assetKind":"Instance","globalAssetId":"g"}}`)
	require.NoError(t, u.Apply(s))
	require.JSONEq(t, full, string(aas.Append(nil, s)))

	// And none of them is lost when the update does not have it.
	_, u, err = aasv1.ParseUpdate([]byte(`{"idShort":"S","assetInformation":{"assetKind":"Type","assetType":"t","specificAssetIds":[{"name":"n","value":"v"}],"defaultThumbnail":{"path":"/x.png"}}}`))
	require.NoError(t, err)
	s = decode(t, full)
	require.NoError(t, u.Apply(s))
	require.JSONEq(t, full, string(aas.Append(nil, s)))
}

func TestPages(t *testing.T) {
	q, err := aasv1.Window(3, 20)
	require.NoError(t, err)
	require.Equal(t, aas.Query{Offset: 40, Limit: 20, Count: true}, q)
	q, err = aasv1.Window(math.MaxInt, 100)
	require.NoError(t, err)
	require.Positive(t, q.Offset)
	for _, c := range [][2]int{{0, 20}, {-1, 20}, {1, 0}, {1, 101}, {1, -1}} {
		_, err = aasv1.Window(c[0], c[1])
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}

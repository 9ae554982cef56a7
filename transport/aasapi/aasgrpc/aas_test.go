package aasgrpc

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

// rich is a shell with what a message has no place for but json.
const rich = `{"modelType":"AssetAdministrationShell","id":"urn:a","idShort":"A",
	"assetInformation":{"assetKind":"Instance","globalAssetId":"g","assetType":"urn:type","specificAssetIds":[
		{"name":"n","value":"v","externalSubjectId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"one"}]}},
		{"name":"n","value":"v","externalSubjectId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"two"}]}}]},
	"submodels":[{"type":"ModelReference","keys":[{"type":"Submodel","value":"m"}],
		"referredSemanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"sem"}]}}]}`

func TestAnUpdateWithoutJSONKeepsWhatOnlyJSONCanSay(t *testing.T) {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(t, err)
	ctx := t.Context()
	shell, err := aas.Decode[aas.Shell]([]byte(rich))
	require.NoError(t, err)
	_, err = service.Shells.Create(ctx, shell)
	require.NoError(t, err)
	require.NoError(t, service.PutThumbnail(ctx, "urn:a", "t.png", "image/png", []byte("picture"), repository.Match{}))
	before, err := service.Shells.Document(ctx, "urn:a")
	require.NoError(t, err)

	api := &shellServer{service: service}
	got, err := api.GetShell(ctx, &pb.GetShellRequest{Id: "urn:a"})
	require.NoError(t, err)
	m := got.GetShell()
	m.Json, m.IdShort = "", "B"
	updated, err := api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: "urn:a", Shell: m})
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, json.Unmarshal(before.JSON, &want))
	want["idShort"] = "B"
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, string(text), updated.GetShell().GetJson())
	file, err := service.Thumbnail(ctx, "urn:a")
	require.NoError(t, err)
	require.Equal(t, "picture", string(file.Data))

	// What the message has a place for is replaced all the same.
	m.AssetInformation = &pb.AssetInformation{AssetKind: "Type", SpecificAssetIds: []*pb.SpecificAssetId{{Name: "n", Value: "w"}, {Name: "n", Value: "v"}}}
	m.Submodels[0].Keys[0].Value = "other"
	_, err = api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: "urn:a", Shell: m})
	require.NoError(t, err)
	now, err := service.Shells.Get(ctx, "urn:a")
	require.NoError(t, err)
	asset := &now.AssetInformation
	require.Equal(t, aas.Type, asset.AssetKind)
	require.Empty(t, asset.GlobalAssetID)
	require.Equal(t, "urn:type", asset.AssetType)
	require.Equal(t, []aas.SpecificAssetID{{Name: "n", Value: "w"}, {Name: "n", Value: "v", ExternalSubjectID: aas.Global("one")}}, asset.SpecificAssetIDs)
	require.Equal(t, []aas.Reference{aas.RefTo("other")}, now.Submodels)
}

func TestErrorsNameTheFieldsOfMessages(t *testing.T) {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(t, err)
	shells, assets, ctx := &shellServer{service: service}, &registryServer{service: service}, t.Context()
	for field, call := range map[string]func() error{
		"page_size": func() error {
			_, err := shells.GetAllShells(ctx, &pb.GetAllShellsRequest{PageSize: 101})
			return err
		},
		"asset_kind": func() error {
			_, err := shells.GetAllShells(ctx, &pb.GetAllShellsRequest{AssetKind: "Thing"})
			return err
		},
		"page": func() error { _, err := shells.GetAllShells(ctx, &pb.GetAllShellsRequest{Page: -1}); return err },
		"global_asset_id": func() error {
			_, err := assets.GetByAssetId(ctx, &pb.GetByAssetIdRequest{})
			return err
		},
		"max_results": func() error { _, err := assets.Search(ctx, &pb.AasSearchRequest{MaxResults: 101}); return err },
	} {
		err := call()
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		f, _ := fault.From(err)
		require.Equal(t, field, f.Fields[0].Field)
	}
}

package server_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	pb "github.com/otkit/otkit/proto/platform/v1"
)

func (p *platform) shellAPI(role accounts.Role) (pb.AasRepositoryApiClient, pb.AasRegistryApiClient, context.Context) {
	p.t.Helper()
	conn := p.conn()
	return pb.NewAasRepositoryApiClient(conn), pb.NewAasRegistryApiClient(conn), p.as(p.t.Context(), role)
}

func shellMessage(id, idShort string, submodels ...string) *pb.Shell {
	s := &pb.Shell{Id: id, IdShort: idShort, AssetInformation: &pb.AssetInformation{AssetKind: "Instance", GlobalAssetId: "urn:asset:" + id}}
	for _, m := range submodels {
		s.Submodels = append(s.Submodels, &pb.Reference{Type: "ModelReference", Keys: []*pb.Key{{Type: "Submodel", Value: m}}})
	}
	return s
}

func TestAShellLivesOverGRPC(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		api, registry, ctx := p.shellAPI(accounts.Admin)
		sent := shellMessage("s", "Pump", "m")
		sent.AssetInformation.SpecificAssetIds = []*pb.SpecificAssetId{{Name: "serial", Value: "0815"}}
		created, err := api.CreateShell(ctx, &pb.CreateShellRequest{Shell: sent})
		require.NoError(t, err)
		want := proto.CloneOf(sent)
		want.ModelType, want.Version, want.Json = "AssetAdministrationShell", 1, string(p.get(shells+"/s").body)
		require.True(t, proto.Equal(want, created.GetShell()), "%v", created)
		got, err := api.GetShell(ctx, &pb.GetShellRequest{Id: "s"})
		require.NoError(t, err)
		require.True(t, proto.Equal(want, got.GetShell()), "%v", got)

		listed, err := api.GetAllShells(ctx, &pb.GetAllShellsRequest{})
		require.NoError(t, err)
		require.Equal(t, int32(1), listed.GetTotalCount())
		item := listed.GetShells()[0]
		require.Empty(t, item.GetModelType())
		require.NotContains(t, item.GetJson(), `"modelType":"AssetAdministrationShell"`)
		require.Equal(t, "Pump", item.GetIdShort())
		found, err := registry.GetByAssetId(ctx, &pb.GetByAssetIdRequest{GlobalAssetId: "urn:asset:s"})
		require.NoError(t, err)
		require.True(t, proto.Equal(item, found.GetShells()[0]))
		searched, err := registry.Search(ctx, &pb.AasSearchRequest{IdShort: "pu", AssetKind: "Instance"})
		require.NoError(t, err)
		require.Equal(t, int32(1), searched.GetTotalCount())
		require.True(t, proto.Equal(item, searched.GetShells()[0]))

		// The submodels stay when an update has none.
		change := shellMessage("", "Motor")
		updated, err := api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: "s", Shell: change, IfVersion: 1})
		require.NoError(t, err)
		require.Equal(t, "Motor", updated.GetShell().GetIdShort())
		require.Equal(t, "urn:asset:", updated.GetShell().GetAssetInformation().GetGlobalAssetId())
		require.Empty(t, updated.GetShell().GetAssetInformation().GetSpecificAssetIds())
		require.Len(t, updated.GetShell().GetSubmodels(), 1)
		require.Equal(t, uint64(2), updated.GetShell().GetVersion())
		_, err = api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: "s", Shell: change, IfVersion: 1})
		require.Equal(t, "s", requireStatus(t, err, codes.Aborted, "VERSION_CHANGED").GetMetadata()["id"])
		_, err = api.DeleteShell(ctx, &pb.DeleteShellRequest{Id: "s", IfVersion: 1})
		requireStatus(t, err, codes.Aborted, "VERSION_CHANGED")

		gone, err := api.DeleteShell(ctx, &pb.DeleteShellRequest{Id: "s", IfVersion: 2})
		require.NoError(t, err)
		require.True(t, gone.GetSuccess())
		_, err = api.GetShell(ctx, &pb.GetShellRequest{Id: "s"})
		requireStatus(t, err, codes.NotFound, "AAS_NOT_FOUND")
		empty, err := registry.GetByAssetId(ctx, &pb.GetByAssetIdRequest{GlobalAssetId: "urn:asset:s"})
		require.NoError(t, err)
		require.Empty(t, empty.GetShells())
	})
}

func TestAShellKeepsEveryMemberOverGRPC(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, _, ctx := p.shellAPI(accounts.Admin)
	whole := shellBody("s", "S", "m")
	whole["description"] = []any{object{"language": "de", "text": "Pumpe"}}
	whole["assetInformation"].(object)["assetType"] = "t"
	created, err := api.CreateShell(ctx, &pb.CreateShellRequest{Shell: &pb.Shell{Json: jsonText(t, whole)}})
	require.NoError(t, err)
	require.Equal(t, "S", created.GetShell().GetIdShort())
	whole["modelType"] = "AssetAdministrationShell"
	require.JSONEq(t, jsonText(t, whole), created.GetShell().GetJson())

	// What was read can be sent back, and what contradicts itself cannot.
	back := created.GetShell()
	_, err = api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: "s", Shell: back})
	require.NoError(t, err)
	for member, change := range map[string]func(*pb.Shell){
		"shell.id": func(s *pb.Shell) { s.Id = "t" }, "shell.id_short": func(s *pb.Shell) { s.IdShort = "T" },
		"shell.asset_information": func(s *pb.Shell) { s.AssetInformation.AssetKind = "Type" },
		"shell.submodels":         func(s *pb.Shell) { s.Submodels[0].Keys[0].Value = "n" },
	} {
		bad := proto.CloneOf(back)
		change(bad)
		_, err = api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: "s", Shell: bad})
		requireStatus(t, err, codes.InvalidArgument, "INVALID_REQUEST")
		require.ErrorContains(t, err, member)
	}
	whole["submodels"] = []any{}
	updated, err := api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: "s", Shell: &pb.Shell{Json: jsonText(t, whole)}})
	require.NoError(t, err)
	require.Empty(t, updated.GetShell().GetSubmodels())
}

func TestGRPCRefusesBadRequestsForShells(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, registry, ctx := p.shellAPI(accounts.Admin)
	_, err := api.CreateShell(ctx, &pb.CreateShellRequest{Shell: shellMessage("s", "S")})
	require.NoError(t, err)
	_, err = api.CreateShell(ctx, &pb.CreateShellRequest{Shell: shellMessage("s", "S")})
	require.Equal(t, "s", requireStatus(t, err, codes.AlreadyExists, "AAS_ALREADY_EXISTS").GetMetadata()["id"])
	badKind := shellMessage("x", "X")
	badKind.AssetInformation.AssetKind = "Thing"
	badReference := shellMessage("x", "X", "m")
	badReference.Submodels[0].Type = "Thing"
	for member, shell := range map[string]*pb.Shell{"idShort": shellMessage("x", ""), "id": shellMessage("", "X"), "assetInformation.assetKind": badKind,
		"assetInformation": {Id: "x", IdShort: "X"}, "submodels[0].type": badReference, "cannot be part": shellMessage("..", "X"), "JSON": {Json: "{"}, "idShort is": nil} {
		_, err = api.CreateShell(ctx, &pb.CreateShellRequest{Shell: shell})
		requireStatus(t, err, codes.InvalidArgument, "INVALID_REQUEST")
		require.ErrorContains(t, err, member)
	}
	for name, call := range map[string]func() error{
		"page": func() error { _, err := api.GetAllShells(ctx, &pb.GetAllShellsRequest{Page: -1}); return err },
		"size": func() error { _, err := api.GetAllShells(ctx, &pb.GetAllShellsRequest{PageSize: 101}); return err },
		"kind": func() error { _, err := api.GetAllShells(ctx, &pb.GetAllShellsRequest{AssetKind: "Role"}); return err },
		"most": func() error { _, err := registry.Search(ctx, &pb.AasSearchRequest{MaxResults: 101}); return err },
		"none": func() error { _, err := registry.Search(ctx, &pb.AasSearchRequest{AssetKind: "x"}); return err },
		"id":   func() error { _, err := registry.GetByAssetId(ctx, &pb.GetByAssetIdRequest{}); return err },
		"other": func() error {
			_, err := api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: "s", Shell: shellMessage("t", "T")})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { requireStatus(t, call(), codes.InvalidArgument, "INVALID_REQUEST") })
	}
	for _, id := range []string{"absent", "", ".", "a\nb"} {
		_, err = api.GetShell(ctx, &pb.GetShellRequest{Id: id})
		requireStatus(t, err, codes.NotFound, "AAS_NOT_FOUND")
		_, err = api.DeleteShell(ctx, &pb.DeleteShellRequest{Id: id})
		requireStatus(t, err, codes.NotFound, "AAS_NOT_FOUND")
		_, err = api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: id, Shell: shellMessage(id, "X")})
		requireStatus(t, err, codes.NotFound, "AAS_NOT_FOUND")
		_, err = api.GetSubmodels(ctx, &pb.GetSubmodelsRequest{AasId: id})
		requireStatus(t, err, codes.NotFound, "AAS_NOT_FOUND")
		_, err = api.GetSubmodel(ctx, &pb.GetSubmodelRequest{SubmodelId: id})
		requireStatus(t, err, codes.NotFound, "SUBMODEL_NOT_FOUND")
	}
}

func TestPagesOfShellsOverGRPC(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, registry, ctx := p.shellAPI(accounts.Admin)
	for i := range 25 {
		_, err := api.CreateShell(ctx, &pb.CreateShellRequest{Shell: shellMessage("s"+strconv.Itoa(100+i), "S")})
		require.NoError(t, err)
	}
	for _, c := range []struct {
		page, size int32
		first, n   int
	}{{0, 0, 0, 20}, {2, 0, 20, 5}, {1, 100, 0, 25}, {3, 10, 20, 5}, {2147483647, 100, 0, 0}} {
		r, err := api.GetAllShells(ctx, &pb.GetAllShellsRequest{Page: c.page, PageSize: c.size})
		require.NoError(t, err)
		require.Equal(t, int32(25), r.GetTotalCount())
		require.Len(t, r.GetShells(), c.n)
		if c.n > 0 {
			require.Equal(t, "s"+strconv.Itoa(100+c.first), r.GetShells()[0].GetId())
		}
	}
	r, err := registry.Search(ctx, &pb.AasSearchRequest{MaxResults: 3})
	require.NoError(t, err)
	require.Len(t, r.GetShells(), 3)
	require.Equal(t, int32(25), r.GetTotalCount())
}

func TestSubmodelsOverGRPC(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.AAS.Service.Providers = []repository.SubmodelProvider{network{}} })
	p.create(submodels, submodelBody("m", "Data", property("speed", "xs:float", "21.5"),
		object{"modelType": "Property", "idShort": "unset", "valueType": "xs:string"},
		object{"modelType": "SubmodelElementCollection", "idShort": "motor", "value": []any{property("name", "xs:string", "")}},
		object{"modelType": "Capability", "idShort": "can"}))
	p.create(shells, shellBody("s", "S", "gone", "m"))
	api, _, ctx := p.shellAPI(accounts.Viewer)
	r, err := api.GetSubmodel(ctx, &pb.GetSubmodelRequest{SubmodelId: "m"})
	require.NoError(t, err)
	m := r.GetSubmodel()
	empty, speed := "", "21.5"
	require.True(t, proto.Equal(&pb.Submodel{Id: "m", IdShort: "Data", ModelType: "Submodel", Version: 1, Json: string(p.get(submodels + "/m").body),
		SemanticId: &pb.Reference{Type: "ExternalReference", Keys: []*pb.Key{{Type: "GlobalReference", Value: "https://example.com/idta/Data/3/0"}}},
		SubmodelElements: []*pb.SubmodelElement{
			{ModelType: "Property", IdShort: "speed", ValueType: "xs:float", Value: &speed},
			{ModelType: "Property", IdShort: "unset", ValueType: "xs:string"},
			{ModelType: "SubmodelElementCollection", IdShort: "motor", Elements: []*pb.SubmodelElement{
				{ModelType: "Property", IdShort: "name", ValueType: "xs:string", Value: &empty}}},
			{ModelType: "Capability", IdShort: "can"},
		}}, m), "%v", m)
	list, err := api.GetSubmodels(ctx, &pb.GetSubmodelsRequest{AasId: "s"})
	require.NoError(t, err)
	require.Len(t, list.GetSubmodels(), 1)
	require.True(t, proto.Equal(m, list.GetSubmodels()[0]))
	require.Len(t, list.GetProvided(), 1)
	provided := list.GetProvided()[0]
	require.Equal(t, "NetworkCompliance", provided.GetSubmodelType())
	require.Equal(t, "OverallLevel", provided.GetElements()[0].GetIdShort())
	require.Equal(t, "High", provided.GetElements()[0].GetValue())
	require.True(t, json.Valid([]byte(provided.GetJson())))
}

func TestEveryIDTravelsThroughGRPC(t *testing.T) {
	t.Parallel()
	p := start(t)
	api, registry, ctx := p.shellAPI(accounts.Admin)
	for _, id := range oddIDs {
		shell := shellMessage(id, "S", id)
		shell.AssetInformation.GlobalAssetId = id
		_, err := api.CreateShell(ctx, &pb.CreateShellRequest{Shell: shell})
		require.NoError(t, err, id)
		p.create(submodels, submodelBody(id, "M"))
		got, err := api.GetShell(ctx, &pb.GetShellRequest{Id: id})
		require.NoError(t, err, id)
		require.Equal(t, id, got.GetShell().GetId())
		_, err = api.UpdateShell(ctx, &pb.UpdateShellRequest{Id: id, Shell: shell})
		require.NoError(t, err, id)
		found, err := registry.GetByAssetId(ctx, &pb.GetByAssetIdRequest{GlobalAssetId: id})
		require.NoError(t, err, id)
		require.Len(t, found.GetShells(), 1, id)
		list, err := api.GetSubmodels(ctx, &pb.GetSubmodelsRequest{AasId: id})
		require.NoError(t, err, id)
		require.Equal(t, id, list.GetSubmodels()[0].GetId())
		_, err = api.DeleteShell(ctx, &pb.DeleteShellRequest{Id: id})
		require.NoError(t, err, id)
	}
}

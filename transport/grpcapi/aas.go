package grpcapi

import (
	"cmp"
	"context"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
	pb "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/transport/internal/aasv1"
)

// ShellRepository serves AasRepositoryApi. Errors are the domain's; an interceptor turns them into
// statuses.
type ShellRepository struct {
	pb.UnimplementedAasRepositoryApiServer

	Service *aas.Service
}

// ShellRegistry serves AasRegistryApi. Errors are the domain's; an interceptor turns them into statuses.
type ShellRegistry struct {
	pb.UnimplementedAasRegistryApiServer

	Service *aas.Service
}

// GetAllShells implements AasRepositoryApi.
func (s *ShellRepository) GetAllShells(ctx context.Context, r *pb.GetAllShellsRequest) (*pb.GetAllShellsResponse, error) {
	kind, err := aasv1.Kind(r.GetAssetKind())
	if err != nil {
		return nil, inMessage(err)
	}
	q, err := aasv1.Window(orDefault(r.GetPage(), 1), orDefault(r.GetPageSize(), aasv1.DefaultSize))
	if err != nil {
		return nil, inMessage(err)
	}
	if kind != "" {
		q.Terms = []aas.Term{aas.KindTerm(kind)}
	}
	found, err := aasv1.Find(ctx, s.Service.Shells, q)
	if err != nil {
		return nil, err
	}
	shells, err := shellItems(found.Documents)
	return &pb.GetAllShellsResponse{Shells: shells, TotalCount: int32(found.Total)}, err
}

// fieldNames are the names that parameters have in messages.
var fieldNames = map[string]string{"pageSize": "page_size", "maxResults": "max_results", "assetKind": "asset_kind", "globalAssetId": "global_asset_id"}

// inMessage gives an error about parameters the names of the fields of the message.
func inMessage(err error) error {
	f, ok := fault.From(err)
	if !ok || len(f.Fields) == 0 {
		return err
	}
	named := *f
	named.Fields = slices.Clone(f.Fields)
	for i := range named.Fields {
		named.Fields[i].Field = cmp.Or(fieldNames[f.Fields[i].Field], f.Fields[i].Field)
	}
	return &named
}

func orDefault(given int32, otherwise int) int {
	if given == 0 {
		return otherwise
	}
	return int(given)
}

// GetShell implements AasRepositoryApi.
func (s *ShellRepository) GetShell(ctx context.Context, r *pb.GetShellRequest) (*pb.GetShellResponse, error) {
	doc, err := s.Service.Shells.Document(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	shell, err := shellOf(&doc)
	return &pb.GetShellResponse{Shell: shell}, err
}

// CreateShell implements AasRepositoryApi.
func (s *ShellRepository) CreateShell(ctx context.Context, r *pb.CreateShellRequest) (*pb.CreateShellResponse, error) {
	shell, _, err := shellFrom(r.GetShell())
	if err != nil {
		return nil, err
	}
	if err := aasv1.Complete(shell); err != nil {
		return nil, err
	}
	doc, err := s.Service.Shells.Create(ctx, shell)
	if err != nil {
		return nil, err
	}
	answer, err := shellOf(&doc)
	return &pb.CreateShellResponse{Shell: answer}, err
}

// UpdateShell implements AasRepositoryApi.
func (s *ShellRepository) UpdateShell(ctx context.Context, r *pb.UpdateShellRequest) (*pb.UpdateShellResponse, error) {
	shell, update, err := shellFrom(r.GetShell())
	if err != nil {
		return nil, err
	}
	if err := aasv1.SameID(&shell.ID, r.GetId()); err != nil {
		return nil, err
	}
	if err := aasv1.Complete(shell); err != nil {
		return nil, err
	}
	doc, err := s.Service.Shells.Update(ctx, r.GetId(), aas.Match{Version: r.GetIfVersion()}, update.Apply)
	if err != nil {
		return nil, err
	}
	answer, err := shellOf(&doc)
	return &pb.UpdateShellResponse{Shell: answer}, err
}

// DeleteShell implements AasRepositoryApi.
func (s *ShellRepository) DeleteShell(ctx context.Context, r *pb.DeleteShellRequest) (*pb.DeleteShellResponse, error) {
	if err := s.Service.Shells.Delete(ctx, r.GetId(), aas.Match{Version: r.GetIfVersion()}); err != nil {
		return nil, err
	}
	return &pb.DeleteShellResponse{Success: true}, nil
}

// GetSubmodels implements AasRepositoryApi.
func (s *ShellRepository) GetSubmodels(ctx context.Context, r *pb.GetSubmodelsRequest) (*pb.GetSubmodelsResponse, error) {
	list, err := s.Service.SubmodelsOf(ctx, r.GetAasId())
	if err != nil {
		return nil, err
	}
	answer := &pb.GetSubmodelsResponse{}
	for i := range list {
		if err := addSubmodel(answer, &list[i]); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// GetSubmodel implements AasRepositoryApi.
func (s *ShellRepository) GetSubmodel(ctx context.Context, r *pb.GetSubmodelRequest) (*pb.GetSubmodelResponse, error) {
	doc, err := s.Service.Submodels.Document(ctx, r.GetSubmodelId())
	if err != nil {
		return nil, err
	}
	submodel, err := submodelOf(doc.JSON, doc.Version)
	return &pb.GetSubmodelResponse{Submodel: submodel}, err
}

// GetByAssetId implements AasRegistryApi.
func (s *ShellRegistry) GetByAssetId(ctx context.Context, r *pb.GetByAssetIdRequest) (*pb.GetByAssetIdResponse, error) { //nolint:revive // as generated
	docs, err := aasv1.ByAsset(ctx, s.Service, r.GetGlobalAssetId())
	if err != nil {
		return nil, inMessage(err)
	}
	shells, err := shellItems(docs)
	return &pb.GetByAssetIdResponse{Shells: shells}, err
}

// Search implements AasRegistryApi.
func (s *ShellRegistry) Search(ctx context.Context, r *pb.AasSearchRequest) (*pb.AasSearchResponse, error) {
	kind, err := aasv1.Kind(r.GetAssetKind())
	if err != nil {
		return nil, inMessage(err)
	}
	most := orDefault(r.GetMaxResults(), aasv1.DefaultSize)
	if err := aasv1.Results(most); err != nil {
		return nil, inMessage(err)
	}
	found, err := aasv1.Search(ctx, s.Service, aas.Search{IDShort: r.GetIdShort(), AssetKind: kind, SubmodelType: r.GetSubmodelType(), Limit: most})
	if err != nil {
		return nil, err
	}
	shells, err := shellItems(found.Documents)
	return &pb.AasSearchResponse{Shells: shells, TotalCount: int32(found.Total)}, err
}

func shellItems(docs []aas.Document) ([]*pb.Shell, error) {
	shells := make([]*pb.Shell, len(docs))
	for i := range docs {
		item, err := shellOf(&docs[i])
		if err != nil {
			return nil, err
		}
		item.ModelType, item.Json = "", string(aasv1.AppendItem(nil, &docs[i]))
		shells[i] = item
	}
	return shells, nil
}

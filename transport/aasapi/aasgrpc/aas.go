package aasgrpc

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	pb "github.com/otkit/otkit/proto/platform/v1"
	v1 "github.com/otkit/otkit/transport/aasapi/internal/v1"
)

// shellServer serves AasRepositoryApi. Errors are the domain's; an interceptor turns them into statuses.
type shellServer struct {
	pb.UnimplementedAasRepositoryApiServer

	service *repository.Service
}

// registryServer serves AasRegistryApi. Errors are the domain's; an interceptor turns them into statuses.
type registryServer struct {
	pb.UnimplementedAasRegistryApiServer

	service *repository.Service
}

// API is the gRPC API of asset administration shells.
type API struct {
	shells   *shellServer
	registry *registryServer
}

// New returns the API over service.
func New(service *repository.Service) (*API, error) {
	if service == nil {
		return nil, errors.New("aasgrpc: service is required")
	}
	return &API{&shellServer{service: service}, &registryServer{service: service}}, nil
}

// Register registers the services.
func (a *API) Register(r grpc.ServiceRegistrar) {
	pb.RegisterAasRepositoryApiServer(r, a.shells)
	pb.RegisterAasRegistryApiServer(r, a.registry)
}

// GetAllShells implements AasRepositoryApi.
func (s *shellServer) GetAllShells(ctx context.Context, r *pb.GetAllShellsRequest) (*pb.GetAllShellsResponse, error) {
	kind, err := v1.Kind(r.GetAssetKind())
	if err != nil {
		return nil, inMessage(err)
	}
	q, err := v1.Window(orDefault(r.GetPage(), 1), orDefault(r.GetPageSize(), v1.DefaultSize))
	if err != nil {
		return nil, inMessage(err)
	}
	if kind != "" {
		q.Terms = []repository.Term{repository.KindTerm(kind)}
	}
	found, err := v1.Find(ctx, s.service.Shells, q)
	if err != nil {
		return nil, err
	}
	shells, err := shellItems(found.Documents)
	return &pb.GetAllShellsResponse{Shells: shells, TotalCount: int32(found.Total)}, err
}

// fieldNames are the names that parameters have in messages.
var fieldNames = map[string]string{"pageSize": "page_size", "maxResults": "max_results", "assetKind": "asset_kind", "globalAssetId": "global_asset_id"}

// inMessage replaces parameter names in an error with the field names of the message.
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
func (s *shellServer) GetShell(ctx context.Context, r *pb.GetShellRequest) (*pb.GetShellResponse, error) {
	doc, err := s.service.Shells.Document(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	shell, err := shellOf(&doc)
	return &pb.GetShellResponse{Shell: shell}, err
}

// CreateShell implements AasRepositoryApi.
func (s *shellServer) CreateShell(ctx context.Context, r *pb.CreateShellRequest) (*pb.CreateShellResponse, error) {
	shell, _, err := shellFrom(r.GetShell())
	if err != nil {
		return nil, err
	}
	if err := v1.Complete(shell); err != nil {
		return nil, err
	}
	doc, err := s.service.Shells.Create(ctx, shell)
	if err != nil {
		return nil, err
	}
	answer, err := shellOf(&doc)
	return &pb.CreateShellResponse{Shell: answer}, err
}

// UpdateShell implements AasRepositoryApi.
func (s *shellServer) UpdateShell(ctx context.Context, r *pb.UpdateShellRequest) (*pb.UpdateShellResponse, error) {
	shell, update, err := shellFrom(r.GetShell())
	if err != nil {
		return nil, err
	}
	if err := v1.SameID(&shell.ID, r.GetId()); err != nil {
		return nil, err
	}
	if err := v1.Complete(shell); err != nil {
		return nil, err
	}
	doc, err := s.service.Shells.Update(ctx, r.GetId(), repository.Match{Version: r.GetIfVersion()}, update.Apply)
	if err != nil {
		return nil, err
	}
	answer, err := shellOf(&doc)
	return &pb.UpdateShellResponse{Shell: answer}, err
}

// DeleteShell implements AasRepositoryApi.
func (s *shellServer) DeleteShell(ctx context.Context, r *pb.DeleteShellRequest) (*pb.DeleteShellResponse, error) {
	if err := s.service.Shells.Delete(ctx, r.GetId(), repository.Match{Version: r.GetIfVersion()}); err != nil {
		return nil, err
	}
	return &pb.DeleteShellResponse{Success: true}, nil
}

// GetSubmodels implements AasRepositoryApi.
func (s *shellServer) GetSubmodels(ctx context.Context, r *pb.GetSubmodelsRequest) (*pb.GetSubmodelsResponse, error) {
	list, err := s.service.SubmodelsOf(ctx, r.GetAasId())
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
func (s *shellServer) GetSubmodel(ctx context.Context, r *pb.GetSubmodelRequest) (*pb.GetSubmodelResponse, error) {
	doc, err := s.service.Submodels.Document(ctx, r.GetSubmodelId())
	if err != nil {
		return nil, err
	}
	submodel, err := submodelOf(doc.JSON, doc.Version)
	return &pb.GetSubmodelResponse{Submodel: submodel}, err
}

// GetByAssetId implements AasRegistryApi.
func (s *registryServer) GetByAssetId(ctx context.Context, r *pb.GetByAssetIdRequest) (*pb.GetByAssetIdResponse, error) { //nolint:revive // as generated
	docs, err := v1.ByAsset(ctx, s.service, r.GetGlobalAssetId())
	if err != nil {
		return nil, inMessage(err)
	}
	shells, err := shellItems(docs)
	return &pb.GetByAssetIdResponse{Shells: shells}, err
}

// Search implements AasRegistryApi.
func (s *registryServer) Search(ctx context.Context, r *pb.AasSearchRequest) (*pb.AasSearchResponse, error) {
	kind, err := v1.Kind(r.GetAssetKind())
	if err != nil {
		return nil, inMessage(err)
	}
	most := orDefault(r.GetMaxResults(), v1.DefaultSize)
	if err := v1.Results(most); err != nil {
		return nil, inMessage(err)
	}
	found, err := v1.Search(ctx, s.service, repository.Search{IDShort: r.GetIdShort(), AssetKind: kind, SubmodelType: r.GetSubmodelType(), Limit: most})
	if err != nil {
		return nil, err
	}
	shells, err := shellItems(found.Documents)
	return &pb.AasSearchResponse{Shells: shells, TotalCount: int32(found.Total)}, err
}

func shellItems(docs []repository.Document) ([]*pb.Shell, error) {
	shells := make([]*pb.Shell, len(docs))
	for i := range docs {
		item, err := shellOf(&docs[i])
		if err != nil {
			return nil, err
		}
		item.ModelType, item.Json = "", string(v1.AppendItem(nil, &docs[i]))
		shells[i] = item
	}
	return shells, nil
}

package repository_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

func newDescriptors(ids ...string) []*aas.ShellDescriptor {
	list := make([]*aas.ShellDescriptor, len(ids))
	for i, id := range ids {
		list[i] = &aas.ShellDescriptor{ID: id, IDShort: "Shell"}
	}
	return list
}

// there returns the ids of all shell descriptors.
func there(t testing.TB, s *repository.Service) []string {
	t.Helper()
	ids := []string{}
	for d, err := range s.ShellDescriptors.All(t.Context(), repository.Query{}) {
		require.NoError(t, err)
		ids = append(ids, d.ID)
	}
	return ids
}

// requirePlaces wants an error that names these places.
func requirePlaces(t testing.TB, err, want error, places ...string) {
	t.Helper()
	require.ErrorIs(t, err, want)
	f, ok := fault.From(err)
	require.True(t, ok)
	var named []string
	for _, field := range f.Fields {
		named = append(named, field.Field)
	}
	require.Equal(t, places, named, err)
}

func TestWritingTogetherIsAllOrNothing(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	r := s.ShellDescriptors
	require.NoError(t, r.CreateAll(ctx, newDescriptors("urn:a", "urn:b")))
	require.NoError(t, r.CreateAll(ctx, nil))

	requirePlaces(t, r.CreateAll(ctx, newDescriptors("urn:c", "urn:b")), repository.ErrDescriptorExists, "[1].id")
	requirePlaces(t, r.CreateAll(ctx, newDescriptors("urn:c", "", "urn:c", "urn:d")), aas.ErrInvalidRequest, "[1].id", "[2].id")
	bad := newDescriptors("urn:c", "urn:d")
	bad[1].IDShort = "1 no name"
	requirePlaces(t, r.CreateAll(ctx, bad), aas.ErrInvalidRequest, "[1].idShort")
	requirePlaces(t, r.PutAll(ctx, append(bad, nil)), aas.ErrInvalidRequest, "[1].idShort", "[2]")
	requirePlaces(t, r.DeleteAll(ctx, []string{"urn:a", "urn:none"}), repository.ErrDescriptorNotFound, "[1]")
	requirePlaces(t, r.DeleteAll(ctx, []string{"urn:a", "."}), repository.ErrDescriptorNotFound, "[1]")
	requirePlaces(t, r.DeleteAll(ctx, []string{"urn:a", "urn:a"}), aas.ErrInvalidRequest, "[1]")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.Equal(t, fault.Canceled, fault.KindOf(r.PutAll(gone, newDescriptors("urn:c"))))
	require.Equal(t, []string{"urn:a", "urn:b"}, there(t, s))

	require.NoError(t, r.DeleteAll(ctx, []string{"urn:b", "urn:a"}))
	require.Empty(t, there(t, s))
}

func TestWritingTogetherTellsOfEveryChange(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	sub, err := s.Subscribe(repository.SubscribeOptions{})
	require.NoError(t, err)
	defer sub.Close()
	told := func() (list []string) {
		events, err := sub.Next(ctx, 0)
		require.NoError(t, err)
		for _, e := range events {
			require.Equal(t, repository.KindShellDescriptor, e.Kind)
			list = append(list, fmt.Sprint(e.Type, " ", e.ID, " ", e.Version))
		}
		return list
	}
	r := s.ShellDescriptors
	require.NoError(t, r.CreateAll(ctx, newDescriptors("urn:a", "urn:b")))
	require.Equal(t, []string{"created urn:a 1", "created urn:b 1"}, told())
	next := newDescriptors("urn:c", "urn:b", "urn:a")
	next[2].IDShort = "Other"
	require.NoError(t, r.PutAll(ctx, next))
	require.Equal(t, []string{"created urn:c 1", "updated urn:a 2"}, told(), "urn:b is as it was")
	require.NoError(t, r.PutAll(ctx, next))
	require.NoError(t, r.DeleteAll(ctx, []string{"urn:c", "urn:a"}))
	require.Equal(t, []string{"deleted urn:c 0", "deleted urn:a 0"}, told())
}

// A document that is put together with others keeps and loses files as one that is put alone.
func TestPutTogetherRemovesFilesThatNobodyNames(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	withFile := func(value string) *aas.Submodel {
		file := &aas.File{ContentType: "text/plain", Value: &value}
		file.IDShort = "file"
		return newSubmodel("urn:m", "M", file)
	}
	_, err := s.Import(ctx, &aas.Environment{Submodels: []*aas.Submodel{withFile("/f.txt")}},
		[]repository.ImportFile{{Name: "/f.txt", ContentType: "text/plain", Data: []byte("x")}}, repository.ImportOptions{})
	require.NoError(t, err)
	m := withFile("/f.txt")
	m.IDShort = "N"
	require.NoError(t, s.Submodels.PutAll(ctx, []*aas.Submodel{newSubmodel("urn:n", "N"), m}))
	names, err := s.FileNames(ctx, repository.KindSubmodel, "urn:m")
	require.NoError(t, err)
	require.Equal(t, []string{"/f.txt"}, names)
	require.NoError(t, s.Submodels.PutAll(ctx, []*aas.Submodel{newSubmodel("urn:m", "M")}))
	names, err = s.FileNames(ctx, repository.KindSubmodel, "urn:m")
	require.NoError(t, err)
	require.Empty(t, names)
}

// Two services over one store put the same documents in opposite orders while others are put alone:
// everybody is done in the end, and each set is one that somebody has put.
func TestManyWriteTogether(t *testing.T) {
	store := repository.NewMemory()
	const many = 300 // more than there are locks
	ids := make([]string, many)
	for i := range ids {
		ids[i] = fmt.Sprintf("urn:%03d", i)
	}
	var running sync.WaitGroup
	var services [2]*repository.Service
	for n := range services {
		s, err := repository.New(store, repository.Options{})
		require.NoError(t, err)
		services[n] = s
		running.Go(func() {
			order := slices.Clone(ids)
			if n == 1 {
				slices.Reverse(order)
			}
			for round := range 10 {
				list := newDescriptors(order...)
				for _, d := range list {
					d.AssetType = fmt.Sprintf("urn:%d:%d", n, round)
				}
				if err := s.ShellDescriptors.PutAll(t.Context(), list); err != nil {
					t.Error(err)
				}
			}
		})
		running.Go(func() {
			for range 50 {
				if _, _, err := s.SubmodelDescriptors.Put(t.Context(), &aas.SubmodelDescriptor{ID: ids[n], Endpoints: []aas.Endpoint{{
					Interface: "SUBMODEL-3.1", Protocol: aas.ProtocolInformation{Href: "http://x"}}}}, repository.Match{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	seen := map[string]bool{}
	for d, err := range services[0].ShellDescriptors.All(t.Context(), repository.Query{}) {
		require.NoError(t, err)
		seen[d.AssetType] = true
	}
	require.Len(t, seen, 1)
	require.Len(t, there(t, services[0]), many)
	for _, s := range services {
		require.NoError(t, s.Close(context.Background()))
	}
}

package repository_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

func TestPackagesAreToldAndBounded(t *testing.T) {
	s, ctx := newService(t, repository.Options{MaxFileBytes: 10}), t.Context()
	sub, err := s.Subscribe(repository.SubscribeOptions{Kinds: []repository.Kind{repository.KindPackage}})
	require.NoError(t, err)
	defer sub.Close()
	p := repository.Package{ID: "p", ShellIDs: []string{"urn:a"}, FileName: "a.aasx"}
	_, _, err = s.PutPackage(ctx, p, []byte("12345678901"), repository.Match{})
	require.ErrorIs(t, err, repository.ErrFileTooLarge)
	for _, bad := range []repository.Package{{ID: ""}, {ID: strings.Repeat("p", 129)}, {ID: "p", ShellIDs: []string{""}}, {ID: "p", ShellIDs: []string{"\xff"}}} {
		_, _, err = s.PutPackage(ctx, bad, nil, repository.Match{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
	}
	_, _, err = s.PutPackage(ctx, p, nil, repository.Match{Exists: true})
	require.ErrorIs(t, err, repository.ErrPackageNotFound)

	version, created, err := s.PutPackage(ctx, p, []byte("one"), repository.Match{Absent: true})
	require.NoError(t, err)
	require.True(t, created)
	_, _, err = s.PutPackage(ctx, p, []byte("two"), repository.Match{Absent: true})
	require.ErrorIs(t, err, repository.ErrPackageExists)
	_, _, err = s.PutPackage(ctx, p, []byte("two"), repository.Match{Version: version + 1})
	require.ErrorIs(t, err, repository.ErrVersionChanged)
	_, created, err = s.PutPackage(ctx, p, []byte("two"), repository.Match{Version: version})
	require.NoError(t, err)
	require.False(t, created)
	got, err := s.Package(ctx, "p")
	require.NoError(t, err)
	p.Version = version + 1
	require.Equal(t, p, got)
	got, data, err := s.PackageData(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, p, got)
	require.Equal(t, "two", string(data))
	require.NoError(t, s.DeletePackage(ctx, "p", repository.Match{}))
	_, _, err = s.PackageData(ctx, "p")
	require.ErrorIs(t, err, repository.ErrPackageNotFound)
	_, err = s.Package(ctx, "p")
	require.ErrorIs(t, err, repository.ErrPackageNotFound)
	require.ErrorIs(t, s.DeletePackage(ctx, "p", repository.Match{}), repository.ErrPackageNotFound)

	events, err := sub.Next(ctx, 0)
	require.NoError(t, err)
	var told []repository.EventType
	for _, e := range events {
		told = append(told, e.Type)
	}
	require.Equal(t, []repository.EventType{repository.Created, repository.Updated, repository.Deleted}, told)
	_, _, err = s.Packages(ctx, "", "", 0)
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
}

// Two services over one store put one package: no write is lost.
func TestManyPutOnePackage(t *testing.T) {
	store := repository.NewMemory()
	var running sync.WaitGroup
	const each = 20
	for n := range 2 {
		s, err := repository.New(store, repository.Options{Now: func() time.Time { return time.UnixMicro(1) }})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(context.Background())) }()
		running.Go(func() {
			for i := range each {
				if _, _, err := s.PutPackage(t.Context(), repository.Package{ID: "p"}, fmt.Append(nil, n, i), repository.Match{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	docs, err := store.Get(t.Context(), repository.KindPackage, "p")
	require.NoError(t, err)
	require.EqualValues(t, 2*each, docs[0].Version)
}

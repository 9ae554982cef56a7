package aas_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

func TestPackagesAreToldAndBounded(t *testing.T) {
	s, ctx := newService(t, aas.Options{MaxFileBytes: 10}), t.Context()
	sub, err := s.Subscribe(aas.SubscribeOptions{Kinds: []aas.Kind{aas.KindPackage}})
	require.NoError(t, err)
	defer sub.Close()
	p := aas.Package{ID: "p", ShellIDs: []string{"urn:a"}, FileName: "a.aasx"}
	_, _, err = s.PutPackage(ctx, p, []byte("12345678901"), aas.Match{})
	require.ErrorIs(t, err, aas.ErrFileTooLarge)
	for _, bad := range []aas.Package{{ID: ""}, {ID: strings.Repeat("p", 129)}, {ID: "p", ShellIDs: []string{""}}, {ID: "p", ShellIDs: []string{"\xff"}}} {
		_, _, err = s.PutPackage(ctx, bad, nil, aas.Match{})
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
	}
	_, _, err = s.PutPackage(ctx, p, nil, aas.Match{Exists: true})
	require.ErrorIs(t, err, aas.ErrPackageNotFound)

	version, created, err := s.PutPackage(ctx, p, []byte("one"), aas.Match{Absent: true})
	require.NoError(t, err)
	require.True(t, created)
	_, _, err = s.PutPackage(ctx, p, []byte("two"), aas.Match{Absent: true})
	require.ErrorIs(t, err, aas.ErrPackageExists)
	_, _, err = s.PutPackage(ctx, p, []byte("two"), aas.Match{Version: version + 1})
	require.ErrorIs(t, err, aas.ErrChanged)
	_, created, err = s.PutPackage(ctx, p, []byte("two"), aas.Match{Version: version})
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
	require.NoError(t, s.DeletePackage(ctx, "p", aas.Match{}))
	_, _, err = s.PackageData(ctx, "p")
	require.ErrorIs(t, err, aas.ErrPackageNotFound)
	_, err = s.Package(ctx, "p")
	require.ErrorIs(t, err, aas.ErrPackageNotFound)
	require.ErrorIs(t, s.DeletePackage(ctx, "p", aas.Match{}), aas.ErrPackageNotFound)

	events, err := sub.Next(ctx, 0)
	require.NoError(t, err)
	var told []aas.EventType
	for _, e := range events {
		told = append(told, e.Type)
	}
	require.Equal(t, []aas.EventType{aas.Created, aas.Updated, aas.Deleted}, told)
	_, _, err = s.Packages(ctx, "", "", 0)
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
}

// Two services over one store put one package: no write is lost.
func TestManyPutOnePackage(t *testing.T) {
	store := aas.NewMemory()
	var running sync.WaitGroup
	const each = 20
	for n := range 2 {
		s, err := aas.NewService(store, aas.Options{Now: func() time.Time { return time.UnixMicro(1) }})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		running.Go(func() {
			for i := range each {
				if _, _, err := s.PutPackage(t.Context(), aas.Package{ID: "p"}, fmt.Append(nil, n, i), aas.Match{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	docs, err := store.Get(t.Context(), aas.KindPackage, "p")
	require.NoError(t, err)
	require.EqualValues(t, 2*each, docs[0].Version)
}

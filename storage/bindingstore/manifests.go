package bindingstore

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/storage"
)

// pack returns a manifest as it is stored. Those of 100,000 tags have 10 MB and repeat themselves.
func pack(m link.Manifest) ([]byte, error) {
	m.BindingToken = ""
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	err = errors.Join(json.NewEncoder(z).Encode(m), z.Close())
	return b.Bytes(), err
}

func unpack(data []byte) (m link.Manifest, err error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		err = json.NewDecoder(z).Decode(&m)
	}
	return m, err
}

// Manifest implements [discovery.Store].
func (s *Store) Manifest(ctx context.Context, bridgeID string) (link.Manifest, error) {
	var packed []byte
	err := s.set.View(ctx, "bridges.manifest", func(ctx context.Context, tx *storage.Tx) error {
		packed = nil
		return tx.Each(ctx, "SELECT manifest FROM bridge_manifests WHERE bridge_id = ?", []any{bridgeID}, func(row storage.Scanner) error {
			return row.Scan(&packed)
		})
	})
	switch {
	case err != nil:
		return link.Manifest{}, err
	case packed == nil:
		return link.Manifest{}, discovery.ErrNotBound.On("bridgeId", bridgeID)
	}
	return unpack(packed)
}

// SetManifest implements [discovery.Store].
func (s *Store) SetManifest(ctx context.Context, bridgeID string, m link.Manifest, fence uint64) error {
	packed, err := pack(m)
	if err != nil {
		return err
	}
	var b discovery.Binding
	b.TakeManifest(m)
	return s.set.Update(ctx, "bridges.manifest", func(ctx context.Context, tx *storage.Tx) error {
		n, err := tx.Exec(ctx, "UPDATE bridge_bindings SET driver_type = ?, manifest_hash = ?, tag_count = ?, active_submodels = ? WHERE bridge_id = ?",
			b.DriverType, b.ManifestHash, b.TagCount, b.ActiveSubmodelsJSON(), bridgeID)
		switch {
		case err != nil:
			return err
		case n == 0:
			return discovery.ErrNotBound.On("bridgeId", bridgeID)
		}
		if err := inTime(ctx, tx, bridgeID, fence); err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, "UPDATE bridge_manifests SET manifest = ? WHERE bridge_id = ?", packed, bridgeID); err != nil {
			return err
		}
		return changed(ctx, tx)
	})
}

func sortByID(all []discovery.Binding) {
	slices.SortFunc(all, func(a, b discovery.Binding) int { return cmp.Compare(a.BridgeID, b.BridgeID) })
}

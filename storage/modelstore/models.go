package modelstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/registry"
	"github.com/otkit/otkit/storage"
)

const (
	maxSize  = 256 << 20 // bytes of a model
	partSize = 1 << 20   // of a row, so that no statement and no line of a backup is huge
)

// model is a model in memory. data is not changed.
type model struct {
	meta predictive.Meta
	data []byte
}

func check(t predictive.ModelType, version int) error {
	switch {
	case !slices.Contains(predictive.ModelTypes(), t):
		return predictive.ErrModelType
	case version < 0:
		return predictive.ErrModelVersion
	}
	return nil
}

func notFound(t predictive.ModelType, version int) error {
	return predictive.ErrModelNotFound.On("model", string(t)+" "+predictive.FormatVersion(version))
}

// Put implements [predictive.Registry].
func (s *Store) Put(ctx context.Context, m predictive.Meta, data []byte) (version int, err error) {
	if err := check(m.ModelType, 0); err != nil {
		return 0, err
	}
	err = s.set.Update(ctx, "models.put", func(ctx context.Context, tx *storage.Tx) error {
		last, err := lastVersion(ctx, tx, m.ModelType)
		if err != nil {
			return err
		}
		m.Version = last + 1
		if err := insert(ctx, tx, m, data); err != nil {
			return err
		}
		return s.retain(ctx, tx, m.ModelType)
	})
	if err != nil {
		return 0, err
	}
	return m.Version, nil
}

// lastVersion returns the highest version that there was, 0 for none. No other process adds one before the end of the transaction.
func lastVersion(ctx context.Context, tx *storage.Tx, t predictive.ModelType) (last int, err error) {
	if err := tx.Lock(ctx, "predictive_versions"); err != nil {
		return 0, err
	}
	err = tx.Each(ctx, "SELECT last FROM predictive_versions WHERE model_type = ?", []any{string(t)}, func(row storage.Scanner) error { return row.Scan(&last) })
	return last, err
}

// insert adds a model with the version that it has.
func insert(ctx context.Context, tx *storage.Tx, m predictive.Meta, data []byte) error {
	if len(data) < 1 || len(data) > maxSize {
		return fmt.Errorf("modelstore: the model has %d bytes, must have 1 to %d", len(data), maxSize)
	}
	sum := sha256.Sum256(data)
	m.SHA256, m.Size = hex.EncodeToString(sum[:]), len(data)
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	key := []any{string(m.ModelType), int64(m.Version)}
	if err := tx.Insert(ctx, "INSERT INTO predictive_versions (model_type, last) VALUES", [][]any{key},
		"ON CONFLICT (model_type) DO UPDATE SET last = excluded.last"); err != nil {
		return err
	}
	if err := tx.Insert(ctx, "INSERT INTO predictive_models (model_type, version, serves, trained_us, sha256, meta) VALUES",
		[][]any{append(slices.Clone(key), m.Default, storage.Timestamp(m.TrainedAt), m.SHA256, string(text))}, ""); err != nil {
		return err
	}
	part := int64(0)
	for piece := range slices.Chunk(data, partSize) {
		if err := tx.Insert(ctx, "INSERT INTO predictive_model_parts (model_type, version, part, data) VALUES", [][]any{append(slices.Clone(key), part, piece)}, ""); err != nil {
			return err
		}
		part++
	}
	return nil
}

// versions returns the versions of a type, the highest first: Version, Default, TrainedAt and SHA256.
func versions(ctx context.Context, tx *storage.Tx, t predictive.ModelType) (list []predictive.Meta, err error) {
	err = tx.Each(ctx, "SELECT version, serves, trained_us, sha256 FROM predictive_models WHERE model_type = ? ORDER BY version DESC", []any{string(t)}, func(row storage.Scanner) error {
		var m predictive.Meta
		err := row.Scan(&m.Version, &m.Default, (*storage.Timestamp)(&m.TrainedAt), &m.SHA256)
		list = append(list, m)
		return err
	})
	return list, err
}

// retain removes old versions.
func (s *Store) retain(ctx context.Context, tx *storage.Tx, t predictive.ModelType) error {
	list, err := versions(ctx, tx, t)
	if err != nil || s.o.Keep < 0 || len(list) <= s.o.Keep {
		return err
	}
	serving := byPreference(list)[0].Version
	for _, version := range registry.Superfluous(list, s.o.Keep) {
		if version == serving {
			continue
		}
		if _, err := remove(ctx, tx, t, version); err != nil {
			return err
		}
	}
	return nil
}

// byPreference returns versions in the order in which they serve.
func byPreference(list []predictive.Meta) []predictive.Meta {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b predictive.Meta) int {
		switch {
		case a.Default == b.Default:
			return 0
		case a.Default:
			return -1
		}
		return 1
	})
	return list
}

func remove(ctx context.Context, tx *storage.Tx, t predictive.ModelType, version int) (n int64, err error) {
	key := []any{string(t), int64(version)}
	if _, err := tx.Exec(ctx, "DELETE FROM predictive_model_parts WHERE model_type = ? AND version = ?", key...); err != nil {
		return 0, err
	}
	return tx.Exec(ctx, "DELETE FROM predictive_models WHERE model_type = ? AND version = ?", key...)
}

// Delete implements [predictive.Registry]. It works on a full disk too.
func (s *Store) Delete(ctx context.Context, t predictive.ModelType, version int) error {
	if err := check(t, version); err != nil {
		return err
	}
	return s.set.UpdateVital(ctx, "models.remove", func(ctx context.Context, tx *storage.Tx) error {
		n, err := remove(ctx, tx, t, version)
		if err == nil && n == 0 {
			err = notFound(t, version)
		}
		return err
	})
}

// Get implements [predictive.Registry].
func (s *Store) Get(ctx context.Context, t predictive.ModelType, version int) (predictive.Meta, []byte, error) {
	if err := check(t, version); err != nil {
		return predictive.Meta{}, nil, err
	}
	list, err := s.versions(ctx, t)
	if err != nil {
		return predictive.Meta{}, nil, err
	}
	if version != 0 {
		list = slices.DeleteFunc(list, func(m predictive.Meta) bool { return m.Version != version })
	}
	if len(list) == 0 {
		if version == 0 {
			return predictive.Meta{}, nil, predictive.ErrModelNotFound.On("model", string(t))
		}
		return predictive.Meta{}, nil, notFound(t, version)
	}
	for _, one := range byPreference(list) {
		m, err := s.load(ctx, t, one)
		switch {
		case errors.Is(err, predictive.ErrModelNotAvailable):
			continue
		case err != nil:
			return predictive.Meta{}, nil, err
		}
		if version == 0 {
			s.mu.Lock()
			s.serving[t] = m
			s.mu.Unlock()
		}
		m.meta.Features = slices.Clone(m.meta.Features)
		return m.meta, bytes.Clone(m.data), nil
	}
	if version == 0 {
		return predictive.Meta{}, nil, predictive.ErrModelNotAvailable.Because("every version of %s is damaged", t)
	}
	return predictive.Meta{}, nil, predictive.ErrModelNotAvailable.Because("%s %s is damaged", t, predictive.FormatVersion(version))
}

func (s *Store) versions(ctx context.Context, t predictive.ModelType) (list []predictive.Meta, err error) {
	err = s.set.View(ctx, "models.versions", func(ctx context.Context, tx *storage.Tx) error {
		list, err = versions(ctx, tx, t)
		return err
	})
	return list, err
}

// load returns a model, or ErrModelNotAvailable if it is damaged or was removed meanwhile.
func (s *Store) load(ctx context.Context, t predictive.ModelType, v predictive.Meta) (model, error) {
	s.mu.Lock()
	m := s.serving[t]
	s.mu.Unlock()
	if m.meta.Version == v.Version && m.meta.SHA256 == v.SHA256 {
		return m, nil
	}
	var text string
	err := s.set.View(ctx, "models.get", func(ctx context.Context, tx *storage.Tx) error {
		key := []any{string(t), int64(v.Version)}
		text, m.data = "", nil
		err := tx.Each(ctx, "SELECT meta FROM predictive_models WHERE model_type = ? AND version = ?", key, func(row storage.Scanner) error { return row.Scan(&text) })
		if err != nil {
			return err
		}
		return tx.Each(ctx, "SELECT data FROM predictive_model_parts WHERE model_type = ? AND version = ? ORDER BY part", key, func(row storage.Scanner) error {
			var piece []byte
			err := row.Scan(&piece)
			m.data = append(m.data, piece...)
			return err
		})
	})
	switch {
	case err != nil:
		return model{}, err
	case text == "":
		return model{}, predictive.ErrModelNotAvailable
	}
	if m.meta, err = decode(text, t, v.Version); err == nil {
		err = verify(m)
	}
	return m, s.report(t, v.Version, err)
}

func decode(text string, t predictive.ModelType, version int) (m predictive.Meta, err error) {
	if err = json.Unmarshal([]byte(text), &m); err == nil && (m.ModelType != t || m.Version != version) {
		err = fmt.Errorf("the metadata is of %s %s", m.ModelType, predictive.FormatVersion(m.Version))
	}
	return m, err
}

func verify(m model) error {
	sum := sha256.Sum256(m.data)
	if len(m.data) != m.meta.Size || hex.EncodeToString(sum[:]) != m.meta.SHA256 {
		return errors.New("the model is not what its SHA-256 says")
	}
	return nil
}

// report keeps whether a version is damaged, and logs it once. It returns ErrModelNotAvailable for one that is.
func (s *Store) report(t predictive.ModelType, version int, problem error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if problem == nil {
		delete(s.damaged[t], version)
		return nil
	}
	if s.damaged[t] == nil {
		s.damaged[t] = map[int]string{}
	}
	if _, known := s.damaged[t][version]; !known {
		s.o.Logger.Error("model is damaged and not used", "modelType", t, "version", predictive.FormatVersion(version), "error", problem)
	}
	s.damaged[t][version] = problem.Error()
	return predictive.ErrModelNotAvailable.Wrap(problem)
}

// List implements [predictive.Registry]. It does not read the models: one that is damaged is omitted once that is known.
func (s *Store) List(ctx context.Context, t predictive.ModelType) (list []predictive.Meta, err error) {
	if err := check(t, 0); err != nil {
		return nil, err
	}
	texts := map[int]string{}
	var order []int
	err = s.set.View(ctx, "models.list", func(ctx context.Context, tx *storage.Tx) error {
		clear(texts)
		order = nil
		return tx.Each(ctx, "SELECT version, meta FROM predictive_models WHERE model_type = ? ORDER BY version DESC", []any{string(t)}, func(row storage.Scanner) error {
			var version int
			var text string
			err := row.Scan(&version, &text)
			texts[version], order = text, append(order, version)
			return err
		})
	})
	list = []predictive.Meta{}
	for _, version := range order {
		m, err := decode(texts[version], t, version)
		if err != nil {
			_ = s.report(t, version, err)
			continue
		}
		if !s.isDamaged(t, version) {
			list = append(list, m)
		}
	}
	return list, err
}

func (s *Store) isDamaged(t predictive.ModelType, version int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, damaged := s.damaged[t][version]
	return damaged
}

// Damaged implements [predictive.Inspector]: it returns those that were found to be damaged when they were asked for.
func (s *Store) Damaged(ctx context.Context, t predictive.ModelType) (list []predictive.Damage, err error) {
	if err := check(t, 0); err != nil {
		return nil, err
	}
	all, err := s.versions(ctx, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range all {
		if problem, damaged := s.damaged[t][m.Version]; damaged {
			list = append(list, predictive.Damage{ModelType: t, Version: m.Version, Problem: problem})
		}
	}
	return list, err
}

// Adopt adds the models of a registry, such as the directory that an engine had before it shared a database, with their versions. It adds none of a type of
// which there has been one.
func (s *Store) Adopt(ctx context.Context, from predictive.Registry) error {
	for _, t := range predictive.ModelTypes() {
		list, err := from.List(ctx, t)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			continue
		}
		models := make([]model, 0, len(list))
		for _, m := range slices.Backward(list) {
			_, data, err := from.Get(ctx, t, m.Version)
			if err != nil {
				return err
			}
			models = append(models, model{m, data})
		}
		added := false
		err = s.set.Update(ctx, "models.adopt", func(ctx context.Context, tx *storage.Tx) error {
			added = false
			last, err := lastVersion(ctx, tx, t)
			if err != nil || last > 0 {
				return err
			}
			for _, m := range models {
				if err := insert(ctx, tx, m.meta, m.data); err != nil {
					return err
				}
			}
			added = true
			return nil
		})
		if err != nil {
			return err
		}
		if added {
			s.o.Logger.Info("models taken over into the database", "modelType", t, "versions", len(models))
		}
	}
	return nil
}

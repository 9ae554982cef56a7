package predictive

import (
	"context"
	"errors"
	"sync"
	"time"
)

// served is the default model of a type, decoded.
type served struct {
	mu     sync.Mutex
	bundle *bundle
	meta   Meta
	err    error
	asked  time.Time // zero: ask the registry
}

// model returns the default model of a type. If it cannot be decoded, the one before is served.
func (s *Service) model(ctx context.Context, t ModelType) (*bundle, Meta, error) {
	m := s.models[t]
	m.mu.Lock()
	defer m.mu.Unlock()
	now := s.o.Clock()
	if age := now.Sub(m.asked); !m.asked.IsZero() && age >= 0 && age < s.o.Refresh {
		return m.bundle, m.meta, m.err
	}
	b, meta, err := s.load(ctx, t, m)
	if ctx.Err() != nil {
		return nil, Meta{}, ctx.Err()
	}
	if b != m.bundle {
		s.baselines.forget()
	}
	m.bundle, m.meta, m.err, m.asked = b, meta, err, now
	return b, meta, err
}

// load reads the default model unless it is the one that is served.
func (s *Service) load(ctx context.Context, t ModelType, m *served) (*bundle, Meta, error) {
	meta, data, err := s.deps.Registry.Get(ctx, t, 0)
	switch {
	case errors.Is(err, ErrModelNotFound):
		return nil, Meta{}, ErrModelNotAvailable.Because("no model of type %s has been trained", t)
	case err != nil && m.bundle != nil && ctx.Err() == nil:
		s.o.Log.Warn("models cannot be read; using the one in memory", "modelType", t, "version", m.meta.Version, "err", err)
		return m.bundle, m.meta, nil
	case errors.Is(err, ErrModelNotAvailable): // tells why
		return nil, Meta{}, err
	case err != nil:
		return nil, Meta{}, ErrModelNotAvailable.Wrap(err)
	case m.bundle != nil && m.meta.Version == meta.Version && m.meta.SHA256 == meta.SHA256:
		return m.bundle, m.meta, nil
	}
	b, err := decodeFor(t, data)
	if err == nil {
		return b, meta, nil
	}
	s.o.Log.Error("model is damaged; using the one before", "modelType", t, "version", meta.Version, "err", err)
	list, listErr := s.deps.Registry.List(ctx, t)
	if listErr != nil {
		return nil, Meta{}, ErrModelNotAvailable.Wrap(errors.Join(err, listErr))
	}
	for _, older := range list {
		if older.Version >= meta.Version || !older.Default {
			continue
		}
		m, data, err := s.deps.Registry.Get(ctx, t, older.Version)
		if err != nil {
			continue
		}
		if b, err := decodeFor(t, data); err == nil {
			return b, m, nil
		}
	}
	return nil, Meta{}, ErrModelNotAvailable.Because("the model of type %s is damaged", t).Wrap(err)
}

func decodeFor(t ModelType, data []byte) (*bundle, error) {
	b, err := decodeBundle(data)
	if err == nil && b.modelType != t {
		err = errors.New("predictive: the model is of type " + string(b.modelType))
	}
	return b, err
}

// refresh makes the next call ask the registry.
func (s *Service) refresh(t ModelType) {
	m := s.models[t]
	m.mu.Lock()
	m.asked = time.Time{}
	m.mu.Unlock()
}

// Models are the versions of a model type.
type Models struct {
	List    []Meta // the highest version first
	Serving int    // the version that answers where none is asked for; 0 without one
	Damaged []Damage
}

// Models returns the versions of a model type, and the damaged ones if the registry is an [Inspector].
func (s *Service) Models(ctx context.Context, modelType ModelType) (Models, error) {
	list, err := s.deps.Registry.List(ctx, modelType)
	if err != nil {
		return Models{}, err
	}
	m := Models{List: list}
	for _, meta := range list {
		if m.Serving == 0 || meta.Default {
			m.Serving = meta.Version
		}
		if meta.Default {
			break
		}
	}
	if i, ok := s.deps.Registry.(Inspector); ok {
		m.Damaged, err = i.Damaged(ctx, modelType)
	}
	return m, err
}

// DeleteModel removes a version of a model, damaged or not, or returns [ErrModelNotFound]. Without the version that serves, the one before serves.
func (s *Service) DeleteModel(ctx context.Context, modelType ModelType, version int) error {
	if version < 1 {
		return ErrModelVersion
	}
	err := s.deps.Registry.Delete(ctx, modelType, version)
	if err == nil {
		s.refresh(modelType)
	}
	return err
}

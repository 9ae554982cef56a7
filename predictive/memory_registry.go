package predictive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
)

// MemoryRegistry is a [Registry] in memory, for tests and for programs whose models need not outlive them.
type MemoryRegistry struct {
	mu     sync.Mutex
	models map[ModelType][]memoryModel // the highest version first
	last   map[ModelType]int
}

type memoryModel struct {
	meta  Meta
	model []byte
}

// NewMemoryRegistry returns an empty registry.
func NewMemoryRegistry() *MemoryRegistry {
	return &MemoryRegistry{models: map[ModelType][]memoryModel{}, last: map[ModelType]int{}}
}

// Put implements [Registry].
func (r *MemoryRegistry) Put(ctx context.Context, m Meta, model []byte) (int, error) {
	switch err := checkModel(ctx, m.ModelType, 0); {
	case err != nil:
		return 0, err
	case len(model) == 0:
		return 0, errors.New("predictive: the model is empty")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := sha256.Sum256(model)
	r.last[m.ModelType]++
	m.Version, m.SHA256, m.Size = r.last[m.ModelType], hex.EncodeToString(sum[:]), len(model)
	m.Features = slices.Clone(m.Features)
	r.models[m.ModelType] = slices.Insert(r.models[m.ModelType], 0, memoryModel{m, slices.Clone(model)})
	return m.Version, nil
}

// Get implements [Registry].
func (r *MemoryRegistry) Get(ctx context.Context, t ModelType, version int) (Meta, []byte, error) {
	if err := checkModel(ctx, t, version); err != nil {
		return Meta{}, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.models[t]
	at := slices.IndexFunc(all, func(m memoryModel) bool { return m.meta.Version == version || version == 0 && m.meta.Default })
	if at < 0 && version == 0 && len(all) > 0 {
		at = 0
	}
	if at < 0 {
		return Meta{}, nil, ErrModelNotFound.On("model", string(t))
	}
	return all[at].meta, slices.Clone(all[at].model), nil
}

// List implements [Registry].
func (r *MemoryRegistry) List(ctx context.Context, t ModelType) ([]Meta, error) {
	if err := checkModel(ctx, t, 0); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Meta, 0, len(r.models[t]))
	for _, m := range r.models[t] {
		all = append(all, m.meta)
	}
	return all, nil
}

// Delete implements [Registry].
func (r *MemoryRegistry) Delete(ctx context.Context, t ModelType, version int) error {
	if err := checkModel(ctx, t, version); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(r.models[t]), func(m memoryModel) bool { return m.meta.Version == version })
	if len(left) == len(r.models[t]) {
		return ErrModelNotFound.On("model", string(t))
	}
	r.models[t] = left
	return nil
}

func checkModel(ctx context.Context, t ModelType, version int) error {
	switch {
	case !slices.Contains(ModelTypes(), t):
		return ErrModelType
	case version < 0:
		return ErrModelVersion
	}
	return ctx.Err()
}

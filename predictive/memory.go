package predictive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// MemoryRegistry is a [Registry] that forgets its models when the program ends. The zero value is empty.
type MemoryRegistry struct {
	mu     sync.Mutex
	models map[ModelType][]storedModel // the oldest first
	last   map[ModelType]int
}

type storedModel struct {
	meta Meta
	data []byte
}

// Put adds a model.
func (r *MemoryRegistry) Put(ctx context.Context, meta Meta, model []byte) (int, error) {
	if err := checkModel(ctx, meta.ModelType, 0); err != nil {
		return 0, err
	}
	if len(model) == 0 {
		return 0, errors.New("predictive: the model is empty")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.models == nil {
		r.models, r.last = make(map[ModelType][]storedModel), make(map[ModelType]int)
	}
	r.last[meta.ModelType]++
	meta.Version = r.last[meta.ModelType]
	sum := sha256.Sum256(model)
	meta.SHA256, meta.Size, meta.Features = hex.EncodeToString(sum[:]), len(model), slices.Clone(meta.Features)
	r.models[meta.ModelType] = append(r.models[meta.ModelType], storedModel{meta, slices.Clone(model)})
	return meta.Version, nil
}

// Get returns a model.
func (r *MemoryRegistry) Get(ctx context.Context, modelType ModelType, version int) (Meta, []byte, error) {
	if err := checkModel(ctx, modelType, version); err != nil {
		return Meta{}, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.models[modelType]
	for _, m := range slices.Backward(all) {
		if m.meta.Version == version || version == 0 && m.meta.Default {
			return m.meta, slices.Clone(m.data), nil
		}
	}
	if version == 0 && len(all) > 0 {
		m := all[len(all)-1]
		return m.meta, slices.Clone(m.data), nil
	}
	return Meta{}, nil, ErrModelNotFound
}

// List returns the models of a type.
func (r *MemoryRegistry) List(ctx context.Context, modelType ModelType) ([]Meta, error) {
	if err := checkModel(ctx, modelType, 0); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []Meta{}
	for _, m := range slices.Backward(r.models[modelType]) {
		list = append(list, m.meta)
	}
	return list, nil
}

// Delete removes a model.
func (r *MemoryRegistry) Delete(ctx context.Context, modelType ModelType, version int) error {
	if err := checkModel(ctx, modelType, version); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.models[modelType], func(m storedModel) bool { return m.meta.Version == version })
	if i < 0 {
		return ErrModelNotFound
	}
	r.models[modelType] = slices.Delete(r.models[modelType], i, i+1)
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

// MemoryRecords is a [RecordStore] that forgets its records when the program ends. The zero value is empty.
type MemoryRecords struct {
	mu           sync.Mutex
	failures     []Failure
	replacements []Replacement
}

// AddFailures adds failures.
func (r *MemoryRecords) AddFailures(ctx context.Context, failures []Failure) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.failures)
	for _, f := range failures {
		f.Start, f.Noticed, f.End = storedTime(f.Start), storedTime(f.Noticed), storedTime(f.End)
		switch {
		case f.Source == SourceAlarm && slices.ContainsFunc(list, func(o Failure) bool {
			return o.EquipmentID == f.EquipmentID && o.Component == f.Component && o.Code == f.Code && o.Source == f.Source && o.Start.Equal(f.Start)
		}):
		case slices.ContainsFunc(list, func(o Failure) bool { return o.ID == f.ID }):
			return ErrRecordExists.On("id", f.ID)
		default:
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b Failure) int { return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.ID, b.ID)) })
	r.failures = list
	return nil
}

// AddReplacements adds replacements.
func (r *MemoryRecords) AddReplacements(ctx context.Context, replacements []Replacement) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.replacements)
	for _, p := range replacements {
		p.At = storedTime(p.At)
		switch {
		case p.Source == SourceAlarm && slices.ContainsFunc(list, func(o Replacement) bool {
			return o.EquipmentID == p.EquipmentID && o.Component == p.Component && o.Reason == p.Reason && o.Source == p.Source && o.At.Equal(p.At)
		}):
		case slices.ContainsFunc(list, func(o Replacement) bool { return o.ID == p.ID }):
			return ErrRecordExists.On("id", p.ID)
		default:
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Replacement) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	r.replacements = list
	return nil
}

// Failures returns failures.
func (r *MemoryRecords) Failures(_ context.Context, q RecordQuery) (Page[Failure], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return page(r.failures, q, func(f Failure) bool { return q.selects(f.EquipmentID, f.Component, f.Start) }), nil
}

// Replacements returns replacements.
func (r *MemoryRecords) Replacements(_ context.Context, q RecordQuery) (Page[Replacement], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return page(r.replacements, q, func(p Replacement) bool { return q.selects(p.EquipmentID, p.Component, p.At) }), nil
}

// DeleteFailure removes a failure.
func (r *MemoryRecords) DeleteFailure(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.failures)
	if r.failures = slices.DeleteFunc(slices.Clone(r.failures), func(f Failure) bool { return f.ID == id }); len(r.failures) == n {
		return ErrRecordNotFound.On("id", id)
	}
	return nil
}

// DeleteReplacement removes a replacement.
func (r *MemoryRecords) DeleteReplacement(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.replacements)
	if r.replacements = slices.DeleteFunc(slices.Clone(r.replacements), func(p Replacement) bool { return p.ID == id }); len(r.replacements) == n {
		return ErrRecordNotFound.On("id", id)
	}
	return nil
}

// storedTime returns a time as stores keep it.
func storedTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

func (q RecordQuery) selects(equipment, component string, at time.Time) bool {
	return (q.EquipmentID == "" || q.EquipmentID == equipment) && (q.Component == "" || q.Component == component) &&
		(q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || at.Before(q.To))
}

// page returns the part of a list that a query asks for.
func page[T any](list []T, q RecordQuery, selects func(T) bool) Page[T] {
	p := Page[T]{Items: []T{}}
	for _, item := range list {
		if selects(item) {
			p.Items = append(p.Items, item)
		}
	}
	total := len(p.Items)
	p.Items = p.Items[min(max(q.Offset, 0), total):]
	if q.Limit > 0 {
		p.Items = p.Items[:min(q.Limit, len(p.Items))]
	}
	if q.Count {
		p.Total = total
	}
	return p
}

// MemoryJobs is a [JobStore] for services of one process. The zero value is empty.
type MemoryJobs struct {
	mu       sync.Mutex
	jobs     []storedJob // in the order in which they began
	position int64
}

type storedJob struct {
	Job
	position int64
}

func (m *MemoryJobs) find(id string) *storedJob {
	i := slices.IndexFunc(m.jobs, func(j storedJob) bool { return j.ID == id })
	if i < 0 {
		return nil
	}
	return &m.jobs[i]
}

func (m *MemoryJobs) changed(j *storedJob) {
	m.position++
	j.position = m.position
}

// BeginJob implements [JobStore].
func (m *MemoryJobs) BeginJob(ctx context.Context, j Job, keep int) (Job, bool, error) {
	if err := ctx.Err(); err != nil {
		return Job{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.jobs {
		if one.ModelType == j.ModelType && one.State == JobRunning && !one.Canceled {
			return one.Job, false, nil
		}
	}
	m.jobs = append(m.jobs, storedJob{Job: j})
	m.changed(&m.jobs[len(m.jobs)-1])
	for len(m.jobs) > keep {
		i := slices.IndexFunc(m.jobs, func(j storedJob) bool { return j.State != JobRunning })
		if i < 0 {
			break
		}
		m.jobs = slices.Delete(m.jobs, i, i+1)
	}
	return j, true, nil
}

// UpdateJob implements [JobStore].
func (m *MemoryJobs) UpdateJob(ctx context.Context, j Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.find(j.ID)
	if one == nil || one.State != JobRunning && j.State != JobSucceeded {
		return nil
	}
	j.Canceled = j.Canceled || one.Canceled
	one.Job = j
	m.changed(one)
	return nil
}

// CancelJob implements [JobStore].
func (m *MemoryJobs) CancelJob(ctx context.Context, id string) (Job, error) {
	if err := ctx.Err(); err != nil {
		return Job{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.find(id)
	if one == nil {
		return Job{}, ErrJobNotFound.On("jobId", id)
	}
	if one.State == JobRunning && !one.Canceled {
		one.Canceled = true
		m.changed(one)
	}
	return one.Job, nil
}

// Jobs implements [JobStore].
func (m *MemoryJobs) Jobs(ctx context.Context, after int64) (list []Job, next int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range slices.Backward(m.jobs) {
		if one.position > after {
			list = append(list, one.Job)
		}
	}
	return list, m.position, nil
}

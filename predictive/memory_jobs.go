package predictive

import (
	"context"
	"slices"
	"sync"
)

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

package predictive

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/otkit/otkit/predictive/features"
)

// baselines remembers how lives began. Reading it may take longer than the newest window.
type baselines struct {
	mu    sync.Mutex
	known map[baselineKey][]float64
}

type baselineKey struct {
	extractor *features.Extractor
	tags      string // those of the signals and settings
	begin     int64
}

// maxBaselines bounds the memory: then all are forgotten.
const maxBaselines = 10_000

// forget drops what belongs to models that are not served any more.
func (b *baselines) forget() {
	b.mu.Lock()
	b.known = nil
	b.mu.Unlock()
}

func (b *baselines) get(key baselineKey) ([]float64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	values, ok := b.known[key]
	return values, ok
}

func (b *baselines) put(key baselineKey, values []float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= maxBaselines {
		b.known = nil
	}
	if b.known == nil {
		b.known = make(map[baselineKey][]float64)
	}
	b.known[key] = values
}

// baseline returns the baseline of a life, NaN for signals that have none.
func (s *Service) baseline(ctx context.Context, x *features.Extractor, inputs []input, l life, to time.Time) ([]float64, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	begin := l.from
	if !l.start.Equal(begin) { // not known, or before the lookback: it moves
		begin = begin.Truncate(24 * time.Hour)
	}
	key := baselineKey{x, "", begin.UnixNano()}
	for _, in := range inputs {
		key.tags += in.tag + "\x00"
	}
	if values, ok := s.baselines.get(key); ok {
		return values, nil
	}
	state := x.Begin(l.start)
	if err := s.readBaseline(ctx, state, inputs, l.from, to); err != nil {
		return nil, err
	}
	values := state.Baseline()
	if complete(values, inputs) {
		s.baselines.put(key, values)
	}
	return values, nil
}

var errBaseline = errors.New("baseline is known")

// maxBaseline bounds the samples that a baseline is computed from.
const maxBaseline = 200_000

// readBaseline feeds the beginning of a life until its baseline is known, or gives up.
func (s *Service) readBaseline(ctx context.Context, state *features.Life, inputs []input, from, to time.Time) error {
	count := 0
	err := read(ctx, s.deps.History, inputs, from, to, func(signal int, at time.Time, value float64) error {
		state.Add(signal, at, value)
		if count++; count%64 == 0 && complete(state.Baseline(), inputs) || count > maxBaseline {
			return errBaseline
		}
		return nil
	})
	if errors.Is(err, errBaseline) {
		return nil
	}
	return err
}

// complete reports whether each signal with an input has a baseline.
func complete(baseline []float64, inputs []input) bool {
	for _, in := range inputs {
		if !in.setting && math.IsNaN(baseline[in.signal]) {
			return false
		}
	}
	return true
}

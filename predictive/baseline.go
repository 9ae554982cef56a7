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
	known map[baselineKey]float64
}

type baselineKey struct {
	extractor *features.Extractor
	signal    int
	tags      string // those of the settings and of the signal
	begin     int64
}

// maxBaselines bounds the memory: then all are forgotten.
const maxBaselines = 100_000

// forget drops what belongs to models that are not served any more.
func (b *baselines) forget() {
	b.mu.Lock()
	b.known = nil
	b.mu.Unlock()
}

func (b *baselines) get(key baselineKey) (float64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.known[key]
	return value, ok
}

func (b *baselines) put(key baselineKey, value float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= maxBaselines {
		b.known = nil
	}
	if b.known == nil {
		b.known = make(map[baselineKey]float64)
	}
	b.known[key] = value
}

// baseline returns the baseline of a life, NaN for signals that have none. Each tag is read alone, so that one without samples neither hides the
// baselines of the others nor has them read again.
func (s *Service) baseline(ctx context.Context, x *features.Extractor, inputs []input, l life, stops []Interval, to time.Time) ([]float64, error) {
	values := make([]float64, len(x.Signals()))
	for i := range values {
		values[i] = math.NaN()
	}
	begin := l.from
	if !l.start.Equal(begin) { // not known, or before the lookback: it moves
		begin = begin.Truncate(24 * time.Hour)
	}
	var settings []input
	names := ""
	for _, in := range inputs {
		if in.setting {
			settings = append(settings, in)
			names += in.tag + "\x00"
		}
	}
	for _, in := range inputs {
		if in.setting {
			continue
		}
		key := baselineKey{x, in.signal, names + in.tag, begin.UnixNano()}
		value, known := s.baselines.get(key)
		if !known {
			var err error
			if value, known, err = s.readBaseline(ctx, x, append(settings[:len(settings):len(settings)], in), l, stops, to); err != nil {
				return nil, err
			}
			if known {
				s.baselines.put(key, value)
			}
		}
		values[in.signal] = value
	}
	return values, nil
}

var errBaseline = errors.New("baseline is known")

// maxBaseline bounds the samples that the baseline of a signal is computed from: 20 steps of a day have so many with one each second.
const maxBaseline = 2_000_000

// readBaseline reads the beginning of a life until the baseline of the last of the inputs, the others of which are settings, is known, or gives
// up. It reports whether reading more would change nothing.
func (s *Service) readBaseline(ctx context.Context, x *features.Extractor, inputs []input, l life, stops []Interval, to time.Time) (value float64, known bool, err error) {
	settings, own := inputs[:len(inputs)-1], inputs[len(inputs)-1:]
	state, signal := x.Begin(l.start), own[0].signal
	var first time.Time
	err = read(ctx, s.deps.History, own, l.from, to, func(_ int, at time.Time, _ float64) error {
		first = at
		return errBaseline
	})
	if !errors.Is(err, errBaseline) { // no samples: the settings need not be read
		return math.NaN(), false, err
	}
	if err := s.readSettings(ctx, state, settings, stops, l.from, first); err != nil {
		return math.NaN(), false, err
	}
	count := 0
	err = read(ctx, s.deps.History, inputs, first, to, func(of int, at time.Time, v float64) error {
		if !within(stops, at) {
			state.Add(of, at, v)
		}
		if count++; count%64 == 0 && !math.IsNaN(state.Baseline()[signal]) || count > maxBaseline {
			return errBaseline
		}
		return nil
	})
	if known = errors.Is(err, errBaseline); known {
		err = nil
	}
	value = state.Baseline()[signal]
	return value, known || !math.IsNaN(value), err
}

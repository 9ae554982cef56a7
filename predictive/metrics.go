package predictive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/predictive/features"
)

// Metrics returns the quality of a model; version 0 is the default one. Without such a model it returns [ErrModelNotFound].
func (s *Service) Metrics(ctx context.Context, modelType ModelType, version int) (Metrics, error) {
	if !slices.Contains(ModelTypes(), modelType) {
		return Metrics{}, ErrModelType
	}
	if version < 0 {
		return Metrics{}, ErrModelVersion
	}
	meta, data, err := s.deps.Registry.Get(ctx, modelType, version)
	if err != nil {
		return Metrics{}, err
	}
	m := meta.Metrics
	m.ModelType, m.Version, m.TrainedAt = modelType, meta.Version, meta.TrainedAt
	if meta.Kind != KindBundle {
		return m, nil
	}
	b, err := decodeFor(modelType, data)
	if err != nil {
		return m, ErrModelNotAvailable.Wrap(err)
	}
	if m.Drift, err = s.recentDrift(ctx, b, meta); err != nil {
		s.o.Log.Warn("failed to compute drift", "modelType", modelType, "err", err)
	}
	return m, ctx.Err()
}

const (
	// driftTime, driftModels, driftUnits and driftRows bound the work of drift, and maxDrift its result.
	driftTime   = 5 * time.Second
	driftModels = 16
	driftUnits  = 20
	driftRows   = 30 // of each unit
	maxDrift    = 20
)

// drifts has the drift of a model of each type. It is computed for one caller at a time: anyone may ask.
type drifts struct {
	turn  turn
	known map[ModelType]knownDrift
}

type knownDrift struct {
	version int
	at      time.Time
	list    []FeatureDrift
}

// driftAge is how long a drift is not computed again.
const driftAge = time.Minute

// recentDrift returns the drift of a model as it was at most driftAge ago.
func (s *Service) recentDrift(ctx context.Context, b *bundle, meta Meta) ([]FeatureDrift, error) {
	if err := s.drifts.turn.take(ctx); err != nil {
		return nil, err
	}
	defer s.drifts.turn.leave()
	now := s.o.Clock()
	if k, ok := s.drifts.known[meta.ModelType]; ok && k.version == meta.Version && now.Sub(k.at).Abs() < driftAge {
		return slices.Clone(k.list), nil
	}
	list, err := s.drift(ctx, b)
	if err == nil {
		s.drifts.known[meta.ModelType] = knownDrift{meta.Version, now, list}
	}
	return slices.Clone(list), err
}

// drift compares the newest rows of all equipments with those of the training.
func (s *Service) drift(ctx context.Context, b *bundle) ([]FeatureDrift, error) {
	ctx, cancel := context.WithTimeout(ctx, driftTime)
	defer cancel()
	ids, err := s.Equipments(ctx)
	if err != nil {
		return nil, err
	}
	worst := make(map[string]FeatureDrift)
	models := b.predictors[:min(len(b.predictors), driftModels)]
	for i := range models {
		p := &models[i]
		if p.shape && len(b.predictors) > 1 {
			continue // the models of the roles say more
		}
		columns, err := s.recent(ctx, p, ids)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			break // what is known by then must do
		}
		if err != nil {
			return nil, err
		}
		for j, name := range p.names() {
			if p.drift[j] == nil || len(columns[j]) == 0 || isDrifting(name) {
				continue
			}
			d, err := p.drift[j].Compare(columns[j])
			if err != nil || !finite(d.PSI) || !finite(d.KS) || !finite(d.Missing) {
				continue
			}
			if old, ok := worst[name]; !ok || d.PSI > old.PSI {
				worst[name] = FeatureDrift{name, d.PSI, d.KS, d.Missing}
			}
		}
	}
	list := make([]FeatureDrift, 0, len(worst))
	for _, d := range worst {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b FeatureDrift) int {
		return cmp.Or(cmp.Compare(b.PSI, a.PSI), cmp.Compare(a.Feature, b.Feature))
	})
	return list[:min(len(list), maxDrift)], nil
}

// isDrifting reports whether a feature changes with each life, so that drift means nothing.
func isDrifting(feature string) bool {
	return feature == string(features.Age) || strings.Contains(feature, string(features.BaselineDifference))
}

// recent returns the columns of the newest rows of equipments that have the signals of a predictor.
func (s *Service) recent(ctx context.Context, p *predictor, ids []string) ([][]float64, error) {
	now := s.o.Clock()
	x := p.extractor
	columns := make([][]float64, len(p.names()))
	for units, k := 0, 0; k < len(ids) && units < driftUnits; k++ {
		tags, err := s.tags(ctx, ids[k])
		if err != nil {
			return nil, err
		}
		inputs := inputsOf(x.Signals(), tags)
		if i := slices.IndexFunc(tags, func(t Tag) bool { return !t.Setting }); p.shape && i >= 0 {
			inputs = []input{{0, tags[i].ID, false}}
		}
		if len(inputs) == 0 {
			continue
		}
		units++
		r, err := s.records(ctx, ids[k], now)
		if err != nil {
			return nil, err
		}
		l := openLife(ids[k], r.events(), now.Add(-s.o.Lookback), now)
		from := laterOf(l.from, now.Add(-driftRows*x.Step()-x.Span()))
		l.from, l.end, l.failed, l.open = from, now, true, false // every row is wanted
		stops, err := s.downtime(ctx, ids[k], from, now)
		if err != nil {
			return nil, err
		}
		state := &table{extractor: x, lives: make(map[features.Group]life)}
		if state.data, err = features.NewDataset(p.names(), features.DatasetOptions{}); err != nil {
			return nil, err
		}
		if err := s.addLife(ctx, state, plan{shape: p.shape}, source{inputs: inputs, downtime: stops}, l); err != nil {
			return nil, err
		}
		rows := state.all()
		n := len(rows.rows)
		for i := max(n-driftRows, 0); i < n; i++ {
			for j, v := range rows.Row(i) {
				columns[j] = append(columns[j], v)
			}
		}
	}
	return columns, nil
}

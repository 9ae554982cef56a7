package predictive

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
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
	if version == 0 && errors.Is(err, ErrModelNotFound) {
		err = ErrModelNotFound.Because("no model of type %s has been trained", modelType)
	}
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
	driftRows   = 2400 // of all units
	driftNewest = 30   // of each unit
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
		rows, err := s.recent(ctx, p, ids)
		if err != nil {
			return nil, err
		}
		for j, name := range p.names() {
			if p.drift[j] == nil || len(rows.all[j]) == 0 || isDrifting(name) {
				continue
			}
			d, err := p.driftOf(j, rows)
			if err != nil || !finite(d.PSI) || !finite(d.KS) || !finite(d.Missing) {
				continue
			}
			if old, ok := worst[name]; !ok || d.PSI > old.PSI {
				worst[name] = FeatureDrift{name, d.PSI, d.KS, d.Missing}
			}
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			break // what is known by then must do
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

// recentRows are columns of rows of several lives of equipments, and of the newest rows of each.
type recentRows struct {
	all, newest [][]float64
	lives       int
}

// driftOf compares recent rows with those of the training. Those of several lives tell a small change, and the newest a large one soon. The index
// is what exceeds that of chance, as the newest rows of a few equipments are of a part of a life each, and unlike whole lives without any change.
func (p *predictor) driftOf(column int, rows recentRows) (learn.Drift, error) {
	h, window := p.drift[column], float64(p.extractor.Span()/p.extractor.Step())
	all, err := h.Compare(rows.all[column])
	if err != nil {
		return all, err
	}
	newest, err := h.Compare(rows.newest[column])
	if err != nil {
		return all, err
	}
	// Rows of overlapping windows tell the same, so that distinct windows count. The lives of the training had about as many as the recent ones have.
	several, few := float64(len(rows.all[column]))/window, float64(len(rows.newest[column]))/window
	trained := several * float64(p.lives) / float64(max(rows.lives, 1))
	all.PSI = max(all.PSI-chance(h.Bins(), several, trained), newest.PSI-chance(h.Bins(), few, trained), 0)
	return all, nil
}

// chance returns the population stability index that independent values do not exceed with a probability of 95%, without any change. It is distributed
// about as chi-squared with bins-1 degrees of freedom, times 1/n+1/m.
//
// Sources: B. Yurdakul and J. Naranjo, "Statistical properties of the population stability index", Journal of Risk Model Validation 14, 2020;
// E. B. Wilson and M. M. Hilferty, "The distribution of chi-square", Proceedings of the National Academy of Sciences 17, 1931.
func chance(bins int, n, m float64) float64 {
	const normal = 1.645 // that 95% do not exceed
	k := float64(bins - 1)
	return k * math.Pow(1-2/(9*k)+normal*math.Sqrt(2/(9*k)), 3) * (1/max(n, 1) + 1/max(m, 1))
}

// isDrifting reports whether a feature changes with each life, so that drift means nothing.
func isDrifting(feature string) bool {
	return feature == string(features.Age) || strings.Contains(feature, string(features.BaselineDifference))
}

// recent returns the recent rows of equipments that have the signals of a predictor. The fewer these are, the farther their rows reach back.
// When ctx has no time left, it returns what it has.
func (s *Service) recent(ctx context.Context, p *predictor, ids []string) (rows recentRows, err error) {
	now, x := s.o.Clock(), p.extractor
	rows.all, rows.newest = make([][]float64, len(p.names())), make([][]float64, len(p.names()))
	var units []source
	var names []string
	for k := 0; k < len(ids) && len(units) < driftUnits; k++ {
		tags, err := s.tags(ctx, ids[k])
		if err != nil {
			return rows, err
		}
		inputs := inputsOf(x.Signals(), tags)
		if i := slices.IndexFunc(tags, func(t Tag) bool { return !t.Setting }); p.shape && i >= 0 {
			inputs = []input{{0, tags[i].ID, false}}
		}
		if len(inputs) > 0 {
			units, names = append(units, source{inputs: inputs}), append(names, ids[k])
		}
	}
	for i, src := range units {
		from := laterOf(now.Add(-s.o.Lookback), now.Add(-time.Duration(driftRows/len(units))*x.Step()))
		r, err := s.records(ctx, names[i], now)
		if err != nil {
			return rows, err
		}
		src.lives = livesOf(names[i], "", p.eventsOf(r, i), from.Add(-x.Span()), now)
		if src.downtime, err = s.downtime(ctx, names[i], from.Add(-x.Span()), now); err != nil {
			return rows, err
		}
		err = s.addRecent(ctx, p, src, from, &rows)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// eventsOf returns what ends the lives that a predictor knows: one component, or by turns those of several.
func (p *predictor) eventsOf(r records, turn int) []event {
	if p.platt != nil { // of failures
		return r.events()
	}
	component := cmp.Or(p.key, p.only)
	if list := r.components(); component == "" && len(list) > 0 {
		component = list[turn%len(list)]
	}
	return r.only(component).events()
}

// addRecent adds the rows of an equipment from a time on.
func (s *Service) addRecent(ctx context.Context, p *predictor, src source, from time.Time, rows *recentRows) error {
	t := &table{extractor: p.extractor, lives: make(map[features.Group]life)}
	var err error
	if t.data, err = features.NewDataset(p.names(), features.DatasetOptions{}); err != nil {
		return err
	}
	for _, l := range src.lives {
		l.failed = true // every row is wanted
		if err := s.addLife(ctx, t, plan{shape: p.shape}, src, l); err != nil {
			return err
		}
	}
	rows.lives += len(t.lives)
	list := t.all()
	n := len(list.rows)
	for i := range n {
		if list.Time(i).Before(from) {
			continue
		}
		for j, v := range list.Row(i) {
			rows.all[j] = append(rows.all[j], v)
			if i >= n-driftNewest {
				rows.newest[j] = append(rows.newest[j], v)
			}
		}
	}
	return nil
}

package predictive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/predictive/features"
)

// fleet is what a training knows of the plant.
type fleet struct {
	from, to time.Time
	members  []member
}

// member is an equipment.
type member struct {
	id       string
	tags     []Tag
	records  records
	downtime []Interval
}

// fleet reads the inventory and the records of all equipments.
func (s *Service) fleet(ctx context.Context) (f fleet, err error) {
	f.to = s.o.Clock()
	f.from = f.to.Add(-s.o.Lookback)
	ids, err := s.Equipments(ctx)
	if err != nil {
		return f, err
	}
	for _, id := range ids {
		m := member{id: id}
		if m.records, err = s.records(ctx, id, f.to); err != nil {
			return f, err
		}
		if m.tags, err = s.tags(ctx, id); err != nil {
			return f, err
		}
		if m.downtime, err = s.downtime(ctx, id, f.from, f.to); err != nil {
			return f, err
		}
		f.members = append(f.members, m)
	}
	return f, nil
}

// downtime returns the planned stops of an equipment.
func (s *Service) downtime(ctx context.Context, equipment string, from, to time.Time) ([]Interval, error) {
	if s.deps.Downtime == nil {
		return nil, nil
	}
	return s.deps.Downtime.Downtimes(ctx, equipment, from, to)
}

// trainer makes a bundle.
type trainer struct {
	s      *Service
	fleet  fleet
	bundle bundle
	all    evaluation // of the predictors of keys
	pooled evaluation
	rival  *rival // nil: none
	meta   Meta
	hash   hash.Hash
	units  map[string]bool
	ends   map[lifeEnd]bool
	short  []string // what was missing for predictors that are not there
	// report tells the progress, from 0 to 1.
	report func(done float64, stage string)
	parts  int
	part   int
}

// train makes a model of a type and its metadata, and compares it with its rival.
func (s *Service) train(ctx context.Context, modelType ModelType, r *rival, report func(float64, string)) (*bundle, Meta, error) {
	f, err := s.fleet(ctx)
	if err != nil {
		return nil, Meta{}, err
	}
	t := &trainer{s: s, fleet: f, rival: r, report: report, hash: sha256.New(), units: make(map[string]bool), ends: make(map[lifeEnd]bool)}
	t.bundle = bundle{modelType: modelType, horizon: s.o.Horizon.Hours()}
	t.meta = Meta{ModelType: modelType, Kind: KindBundle, Seed: s.o.Seed, Horizon: s.o.Horizon, Library: s.o.Library}
	if modelType == FailureModel {
		err = t.failures(ctx)
	} else {
		err = t.lives(ctx)
	}
	if err != nil {
		return nil, Meta{}, err
	}
	if len(t.bundle.predictors) == 0 {
		return nil, Meta{}, tooLittle("%s", t.missing())
	}
	t.finish()
	return &t.bundle, t.meta, nil
}

const noFailures = "no equipment has tags and failures"

// missing tells why no predictor could be made.
func (t *trainer) missing() string {
	if len(t.short) == 0 {
		return noFailures
	}
	slices.Sort(t.short)
	list := slices.Compact(t.short)
	if len(list) > 3 {
		list = append(list[:3:3], "and others")
	}
	return strings.Join(list, "; ")
}

func (t *trainer) finish() {
	b := &t.bundle
	slices.SortFunc(b.predictors, func(a, b predictor) int { return strings.Compare(a.key, b.key) })
	e := t.all
	if e.how == "" {
		e = t.pooled
	}
	t.meta.Metrics = e.metrics(b.modelType)
	t.meta.DataHash, t.meta.Units, t.meta.Lives = hex.EncodeToString(t.hash.Sum(nil)), len(t.units), len(t.ends)
	for _, p := range b.predictors {
		t.meta.Features = append(t.meta.Features, p.names()...)
		if t.meta.ExtractorVersion == "" || p.key == pooledKey {
			t.meta.ExtractorVersion = p.extractor.Version()
		}
		if b.modelType == FailureModel && (t.meta.Threshold == 0 || p.key == pooledKey) {
			t.meta.Threshold = p.threshold
		}
	}
	slices.Sort(t.meta.Features)
	t.meta.Features = slices.Compact(t.meta.Features)
}

// learn builds a table, fits a predictor to it and adds it to the bundle. Too little data is noted and no error.
func (t *trainer) learn(ctx context.Context, key, stage string, p plan) (evaluation, bool, error) {
	share := 1 / float64(t.parts)
	start := float64(t.part) * share
	t.part++
	t.report(start, stage)
	p.maxRows = t.s.o.MaxRows
	p.progress = func(done, total int) { t.report(start+share*float64(done)/float64(total)/2, stage) }
	p, err := t.divide(ctx, p)
	if err != nil {
		return evaluation{}, false, t.skip(stage, err)
	}
	tab, err := t.s.build(ctx, p)
	if err != nil {
		return evaluation{}, false, t.skip(stage, err)
	}
	fits := 0
	l := lesson{table: tab, minFailures: t.s.o.MinFailures, horizon: t.bundle.horizon, limit: p.limit, seed: t.s.o.Seed, step: func() {
		fits++
		t.report(start+share*(0.5+float64(fits)/float64(2*(maxFolds+1))), stage)
	}}
	fit := l.fitFailure
	if t.bundle.modelType == RULModel {
		fit = l.fitRUL
	}
	model, d, err := fit(ctx)
	if err != nil {
		return evaluation{}, false, t.skip(stage, err)
	}
	model.key, model.shape = key, p.shape
	if err := t.compete(ctx, p, l, &model, d.test); err != nil {
		return evaluation{}, false, err
	}
	t.bundle.predictors = append(t.bundle.predictors, model)
	t.count(tab, d.train)
	return d.evaluation, true, nil
}

// skip notes what is missing, and returns any other error.
func (t *trainer) skip(stage string, err error) error {
	if !isMissingData(err) {
		return err
	}
	t.short = append(t.short, stage+": "+missingData(err))
	return nil
}

// count adds the rows of a training to the metadata.
func (t *trainer) count(tab *table, v subset) {
	var word [8]byte
	for i := range v.rows {
		at := v.Time(i)
		if t.meta.From.IsZero() || at.Before(t.meta.From) {
			t.meta.From = at
		}
		if at.After(t.meta.To) {
			t.meta.To = at
		}
		if v.Label(i) <= t.bundle.horizon {
			t.meta.Positives++
		}
		t.units[tab.unit(v.Group(i))] = true
		t.hash.Write([]byte(v.Group(i).Unit))
		for _, value := range append([]float64{float64(at.UnixNano()), v.Label(i)}, v.Row(i)...) {
			binary.LittleEndian.PutUint64(word[:], math.Float64bits(value))
			t.hash.Write(word[:])
		}
	}
	t.meta.Samples += len(v.rows)
	failed, unfinished := tab.livesIn(v)
	maps.Copy(t.ends, failed)
	maps.Copy(t.ends, unfinished)
}

// divide returns a plan with the division of its lives, and with what follows from those of the training: the step of its features and the longest
// remaining life. Nothing of it is known from lives that judge.
func (t *trainer) divide(ctx context.Context, p plan) (_ plan, err error) {
	if p.sources, err = t.s.withSamples(ctx, p.sources); err != nil {
		return p, err
	}
	needed := t.s.o.MinFailures
	if t.bundle.modelType == RULModel { // boosting takes as many; a line serves with half of them
		needed = max((needed+1)/2, 3)
	}
	lives := livesOfSources(p.sources)
	if p.division, err = divide(lives, needed, t.s.o.Seed); err != nil {
		return p, err
	}
	t.measure(&p, slices.DeleteFunc(lives, func(l life) bool { return !p.division.trains(l.group) }))
	return p, nil
}

// measure sets what lives tell.
func (t *trainer) measure(p *plan, lives []life) {
	p.options, p.horizon, p.limit = t.options(lives), t.bundle.horizon, t.bundle.horizon
	if t.bundle.modelType != RULModel {
		return
	}
	p.limit = 0.6 * medianLife(lives).Hours()
	if t.s.o.MaxLife > 0 {
		p.limit = t.s.o.MaxLife.Hours()
	}
}

// options returns the features for lives.
func (t *trainer) options(lives []life) features.Options {
	o := t.s.o.Features
	if o.Seed == 0 {
		o.Seed = t.s.o.Seed
	}
	if o.Step == 0 {
		o.Step = min(max((medianLife(lives)/200).Truncate(time.Minute), time.Minute), 24*time.Hour)
	}
	return o
}

// rolesOf returns the roles that at least half of some members have, the most frequent first, as signals, at most maxSignals; settings are
// those that all members have.
func rolesOf(members []member) (list []features.Signal) {
	counts, settings := make(map[string]int), make(map[string]int)
	for _, m := range members {
		seen := make(map[string]bool)
		for _, tag := range m.tags {
			switch {
			case seen[tag.Role]:
			case tag.Setting:
				settings[tag.Role]++
			default:
				counts[tag.Role]++
			}
			seen[tag.Role] = true
		}
	}
	for role, n := range settings {
		if n == len(members) && counts[role] == 0 {
			list = append(list, features.Signal{Name: role, Setting: true})
		}
	}
	slices.SortFunc(list, func(a, b features.Signal) int { return strings.Compare(a.Name, b.Name) })
	list = list[:min(len(list), maxSignals/2)]
	roles := make([]string, 0, len(counts))
	for role, n := range counts {
		if 2*n >= len(members) {
			roles = append(roles, role)
		}
	}
	slices.SortFunc(roles, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
	for _, role := range roles[:min(len(roles), maxSignals-len(list))] {
		list = append(list, features.Signal{Name: role})
	}
	return list
}

// maxSignals bounds the signals of a model of remaining life.
const maxSignals = 64

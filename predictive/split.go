package predictive

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/predictive/features"
)

// testShare is the share of the lives, or units, that judge a model.
const testShare = 0.3

// maxFolds is the number of parts that calibrate a model, each by a model of the others.
const maxFolds = 4

// division tells which lives a model learns from and which judge it. The zero value is for learning from all.
type division struct {
	how         string
	failures    int // how often equipments failed; a failure that several tags show counts once
	train, test map[features.Group]bool
	// cut is, where later lives judge earlier ones, the time from which rows of lives that have not failed judge, and until which they are learned from.
	cut time.Time
}

// known returns a life of the training as far as the training knows it.
func (d division) known(l life) life {
	if !d.cut.IsZero() && l.end.After(d.cut) {
		l.end, l.open = d.cut, false
	}
	return l
}

func (d division) trains(g features.Group) bool { return d.train == nil || d.train[g] }
func (d division) tests(g features.Group) bool  { return d.test[g] }

// divide divides lives that have rows. Later lives judge earlier ones; where lives do not follow each other, as of a fleet that started together,
// units are held out. It takes at least so many failures.
func divide(lives []life, needed int, seed uint64) (division, error) {
	d := division{train: make(map[features.Group]bool), test: make(map[features.Group]bool)}
	var failed []life
	ends := make(map[lifeEnd]bool)
	for _, l := range lives {
		if l.failed {
			failed = append(failed, l)
			ends[l.lifeEnd()] = true
		}
	}
	if d.failures = len(ends); d.failures < needed {
		return d, tooLittle("%d lives that ended by a failure, %d needed", d.failures, needed)
	}
	units := unitsOf(failed)
	healthy := slices.DeleteFunc(unitsOf(lives), func(unit string) bool { return slices.Contains(units, unit) })
	shuffle(healthy, seed)
	held := healthy[:testCount(len(healthy))]
	if d.byTime(lives, failed, healthy[len(held):]) {
		return d, nil
	}
	if len(units) < 2 {
		return d, tooLittle("%d lives that ended by a failure, of %d equipments: none is left to judge the model by", len(failed), len(units))
	}
	shuffle(units, seed)
	held = slices.Concat(units[:max(testCount(len(units)), 1)], held)
	d.how = SplitUnits
	for _, l := range lives {
		if slices.Contains(held, l.equipment) {
			d.test[l.group] = true
		} else {
			d.train[l.group] = true
		}
	}
	return d, nil
}

func testCount(n int) int { return int(testShare*float64(n) + 0.5) }

// byTime divides at a time, unless most of the lives that failed were under way then. Lives that last beyond it judge, except for those of some
// healthy equipments, without which no healthy equipment would be known.
func (d *division) byTime(lives, failed []life, healthy []string) bool {
	n := len(failed)
	if n < 2 {
		return false
	}
	starts := make([]int64, 0, n)
	for _, l := range failed {
		starts = append(starts, l.from.UnixNano())
	}
	slices.Sort(starts)
	cut := time.Unix(0, starts[n-min(max(testCount(n), 1), n-1)]).UTC()
	known := 0
	for _, l := range failed {
		if !l.end.After(cut) {
			known++
		}
	}
	if known < 2 || 2*known < n {
		return false
	}
	d.how, d.cut = SplitTime, cut
	for _, l := range lives {
		switch {
		case !l.end.After(cut), l.from.Before(cut) && slices.Contains(healthy, l.equipment):
			d.train[l.group] = true
		case !l.failed || !l.from.Before(cut):
			d.test[l.group] = true
		}
	}
	return true
}

// withSamples leaves out lives without samples, such as those from before the history begins. It reads as far as the first sample of each.
func (s *Service) withSamples(ctx context.Context, sources []source) ([]source, error) {
	list := make([]source, 0, len(sources))
	for _, src := range sources {
		var lives []life
		for _, l := range src.lives {
			any, err := s.hasSample(ctx, src, l)
			if err != nil {
				return nil, err
			}
			if any {
				lives = append(lives, l)
			}
		}
		if src.lives = lives; len(lives) > 0 {
			list = append(list, src)
		}
	}
	return list, nil
}

func (s *Service) hasSample(ctx context.Context, src source, l life) (bool, error) {
	for _, in := range src.inputs {
		for sample, err := range s.deps.History.Samples(ctx, in.tag, l.from, l.end) {
			if err != nil {
				return false, fmt.Errorf("predictive: reading the history of %s: %w", in.tag, err)
			}
			if !sample.Bad && finite(sample.Value) && !sample.Time.Before(l.from) && sample.Time.Before(l.end) && !within(src.downtime, sample.Time) {
				return true, nil
			}
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// livesOfSources returns the lives of all sources.
func livesOfSources(sources []source) (list []life) {
	for _, src := range sources {
		list = append(list, src.lives...)
	}
	return list
}

func compareGroups(a, b features.Group) int {
	return cmp.Or(strings.Compare(a.Unit, b.Unit), cmp.Compare(a.Life, b.Life))
}

// unit returns the equipment of a life. What happens to it shows in all its tags and components, so they are not divided.
func (t *table) unit(g features.Group) string { return t.lives[g].equipment }

// lifeEnd is the end of a life, whose tags and components do not make it several.
type lifeEnd struct {
	equipment string
	at        int64
}

func (l life) lifeEnd() lifeEnd { return lifeEnd{l.equipment, l.end.UnixNano()} }

// livesIn returns the lives that rows are of, by whether they failed.
func (t *table) livesIn(rows subset) (failed, unfinished map[lifeEnd]bool) {
	failed, unfinished = make(map[lifeEnd]bool), make(map[lifeEnd]bool)
	for i := range rows.rows {
		if l := t.lives[rows.Group(i)]; l.failed {
			failed[l.lifeEnd()] = true
		} else {
			unfinished[l.lifeEnd()] = true
		}
	}
	return failed, unfinished
}

// unitsOf returns the equipments of lives in alphabetical order.
func unitsOf(lives []life) (list []string) {
	for _, l := range lives {
		list = append(list, l.equipment)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func shuffle[T any](list []T, seed uint64) {
	rand.New(rand.NewPCG(seed, 3)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// fold is a division of the training for predictions of rows that the predicting model has not seen.
type fold struct{ train, test subset }

// folds divides by units, or by lives where there are fewer than three units.
func (s subset) folds(seed uint64, unit func(features.Group) string) []fold {
	groups := make(map[features.Group]bool)
	for i := range s.rows {
		groups[s.Group(i)] = true
	}
	list := slices.SortedFunc(maps.Keys(groups), compareGroups)
	units := make([]string, 0, len(list))
	for _, g := range list {
		units = append(units, unit(g))
	}
	slices.Sort(units)
	units = slices.Compact(units)
	part := make(map[features.Group]int)
	n := 0
	if len(units) >= 3 {
		n = min(maxFolds, len(units))
		shuffle(units, seed)
		for _, g := range list {
			part[g] = slices.Index(units, unit(g)) % n
		}
	} else {
		n = min(maxFolds, len(list))
		shuffle(list, seed)
		for i, g := range list {
			part[g] = i % n
		}
	}
	folds := make([]fold, n)
	for k := range folds {
		folds[k].train = s.only(func(g features.Group) bool { return part[g] != k })
		folds[k].test = s.only(func(g features.Group) bool { return part[g] == k })
	}
	return folds
}

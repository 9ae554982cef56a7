package predictive

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/otkit/otkit/predictive/features"
)

// testShare is the share of the lives, or units, that judge a model.
const testShare = 0.3

// maxFolds is the number of parts that calibrate a model, each by a model of the others.
const maxFolds = 4

// split divides rows into those of the training and those of the test, which are of whole lives. Later lives judge earlier ones; where lives do
// not follow each other, as of a fleet that started together, units are held out.
func (t *table) split(seed uint64) (train, test subset, how string, err error) {
	failed := t.failedGroups()
	unit := t.unit
	all := t.all()
	if n := len(failed); n >= 2 {
		starts := make([]int64, 0, n)
		for _, g := range failed {
			starts = append(starts, t.lives[g].from.UnixNano())
		}
		slices.Sort(starts)
		cut := starts[n-min(max(int(testShare*float64(n)+0.5), 1), n-1)]
		before := func(g features.Group) bool { return t.lives[g].end.UnixNano() <= cut }
		after := func(g features.Group) bool { return t.lives[g].failed && t.lives[g].from.UnixNano() >= cut }
		known := 0
		for _, g := range failed {
			if before(g) {
				known++
			}
		}
		if known >= 2 && 2*known >= n { // else most lives were under way
			return all.only(before), all.only(after), SplitTime, nil
		}
	}
	units := unitsOf(failed, unit)
	if len(units) < 2 {
		return train, test, "", tooLittle("%d lives that ended by a failure, of %d equipments: none is left to judge the model by", len(failed), len(units))
	}
	shuffle(units, seed)
	held := units[:max(int(testShare*float64(len(units))+0.5), 1)]
	isHeld := func(g features.Group) bool { return slices.Contains(held, unit(g)) }
	train = all.only(func(g features.Group) bool { return !isHeld(g) })
	test = all.only(func(g features.Group) bool { return isHeld(g) && t.lives[g].failed })
	return train, test, SplitUnits, nil
}

// failedGroups returns the lives with rows that ended by a failure, in the order of units.
func (t *table) failedGroups() (list []features.Group) {
	for g, l := range t.lives {
		if l.failed {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, compareGroups)
	return list
}

func compareGroups(a, b features.Group) int {
	return cmp.Or(strings.Compare(a.Unit, b.Unit), cmp.Compare(a.Life, b.Life))
}

// unit returns the equipment of a life. What happens to it shows in all its tags and components, so they are not divided.
func (t *table) unit(g features.Group) string { return t.lives[g].equipment }

// failures returns how often equipments failed in lives with rows. A failure that several tags show counts once.
func (t *table) failures() int {
	seen := make(map[lifeEnd]bool)
	for _, l := range t.lives {
		if l.failed {
			seen[lifeEnd{l.equipment, l.end.UnixNano()}] = true
		}
	}
	return len(seen)
}

// lifeEnd is the end of a life, whose tags and components do not make it several.
type lifeEnd struct {
	equipment string
	at        int64
}

// livesIn returns the lives that rows are of.
func (t *table) livesIn(rows subset) map[lifeEnd]bool {
	ends := make(map[lifeEnd]bool)
	for i := range rows.rows {
		l := t.lives[rows.Group(i)]
		ends[lifeEnd{l.equipment, l.end.UnixNano()}] = true
	}
	return ends
}

func unitsOf(groups []features.Group, unit func(features.Group) string) (list []string) {
	for _, g := range groups {
		list = append(list, unit(g))
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
	list := make([]features.Group, 0, len(groups))
	for g := range groups {
		list = append(list, g)
	}
	slices.SortFunc(list, compareGroups)
	part := make(map[features.Group]int)
	n := 0
	if units := unitsOf(list, unit); len(units) >= 3 {
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

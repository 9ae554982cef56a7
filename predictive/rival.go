package predictive

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
)

// rival is the model that serves while a new one is trained. Both are judged by the rows that judge the new one, which it has not seen.
//
// The rival may have learned from lives of that test, which makes it look better than it is. Rows that are newer than all that it learned from are
// unseen by both, so they alone decide as soon as there are failures among them. Until then nothing has happened that the rival could be
// wrong about, and being judged by all rows of the test at worst keeps it a while longer.
type rival struct {
	bundle *bundle
	until  time.Time // the newest row that it learned from
	// of the predictors of keys, and of the pooled one
	keys, pooled comparison
}

// newRival returns the rival of a new model, or nil if a stored model cannot be compared with it: it cannot be read, or predicts for another
// horizon.
func newRival(meta Meta, data []byte, horizon time.Duration) *rival {
	b, err := decodeFor(meta.ModelType, data)
	if err != nil || b.horizon != horizon.Hours() {
		return nil
	}
	return &rival{bundle: b, until: meta.To}
}

// wins reports whether the rival stays, which it does unless the new model is better.
func (r *rival) wins(t ModelType) bool {
	if r == nil {
		return false
	}
	c := r.keys
	if c.all[0].rows == 0 {
		c = r.pooled
	}
	list := c.later
	if !list[0].decides(t) {
		list = c.all
	}
	if list[0].rows == 0 { // it answers none of the questions
		return false
	}
	if t == RULModel {
		return list[0].squares >= list[1].squares
	}
	return list[0].confusion.F1() <= list[1].confusion.F1()
}

// comparison has the scores of a new model and of its rival, by all rows of the test and by those that are newer than the rival.
type comparison struct{ all, later [2]score }

type score struct {
	confusion learn.Confusion // of failures
	squares   float64         // of the errors of remaining lives
	rows      int
}

// decides reports whether rows with failures are among those that made a score.
func (s score) decides(t ModelType) bool {
	c := s.confusion
	return s.rows > 0 && (t == RULModel || c.TruePositives+c.FalseNegatives > 0)
}

func (c *comparison) add(later bool, scores [2]score) {
	for i, s := range scores {
		c.all[i].add(s)
		if later {
			c.later[i].add(s)
		}
	}
}

func (s *score) add(o score) {
	s.confusion = joined(s.confusion, o.confusion)
	s.squares += o.squares
	s.rows += o.rows
}

// compete compares a new predictor with the one of the rival that answers the same questions, if there is one.
func (t *trainer) compete(ctx context.Context, p plan, l lesson, model *predictor, test subset) error {
	if t.rival == nil {
		return nil
	}
	other, _ := t.rival.bundle.find(model.key)
	if other == nil {
		return nil
	}
	into := &t.rival.keys
	if model.key == pooledKey {
		into = &t.rival.pooled
	}
	answers, err := t.answers(ctx, other, p, test)
	if err != nil {
		return err
	}
	for i := range test.rows {
		left, own := test.Label(i), model.answer(test.Row(i))
		var scores [2]score
		if t.bundle.modelType == RULModel {
			if !l.table.lives[test.Group(i)].failed {
				continue
			}
			limit := min(model.limit, other.limit)
			for k, hours := range []float64{own, answers[i]} {
				scores[k] = score{squares: math.Pow(min(hours, limit)-min(left, limit), 2), rows: 1}
			}
		} else {
			scores = [2]score{{confusion: decision(own >= model.threshold, left <= l.horizon, test.Weight(i)), rows: 1},
				{confusion: decision(answers[i] >= other.threshold, left <= l.horizon, test.Weight(i)), rows: 1}}
		}
		into.add(test.Time(i).After(t.rival.until), scores)
	}
	return nil
}

// answers returns what a predictor of another training answers at the times of the rows of a test, from features of its own.
func (t *trainer) answers(ctx context.Context, q *predictor, p plan, test subset) ([]float64, error) {
	rows := make(map[features.Group][]int)
	for i := range test.rows {
		g := test.Group(i)
		rows[g] = append(rows[g], i)
	}
	answers := make([]float64, len(test.rows))
	raw := make([]float64, len(q.extractor.Names()))
	for _, src := range p.sources {
		for _, l := range src.lives {
			own := rows[l.group]
			if len(own) == 0 {
				continue
			}
			state := q.extractor.Begin(l.start)
			answer := func(until time.Time) error {
				for ; len(own) > 0 && test.Time(own[0]).Before(until); own = own[1:] {
					if err := state.Row(test.Time(own[0]), raw); err != nil {
						return err
					}
					row := raw
					if q.shape {
						row = shape(raw)
					}
					answers[own[0]] = q.answer(row)
				}
				return nil
			}
			err := read(ctx, t.s.deps.History, t.inputsFor(q, src), l.from, l.end, func(signal int, at time.Time, value float64) error {
				if within(src.downtime, at) {
					return nil
				}
				if err := answer(at); err != nil {
					return err
				}
				state.Add(signal, at, value)
				return nil
			})
			if err == nil {
				err = answer(l.end.Add(1))
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return answers, nil
}

// inputsFor returns the tags that a predictor of another training reads for a source.
func (t *trainer) inputsFor(q *predictor, src source) []input {
	if q.shape {
		i := slices.IndexFunc(src.inputs, func(in input) bool { return !in.setting })
		return []input{{0, src.inputs[i].tag, false}}
	}
	i := slices.IndexFunc(t.fleet.members, func(m member) bool { return m.id == src.lives[0].equipment })
	return inputsOf(q.extractor.Signals(), t.fleet.members[i].tags)
}

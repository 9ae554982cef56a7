package predictive

import (
	"math"
	"slices"

	"github.com/otkit/otkit/predictive/features"
	"github.com/otkit/otkit/predictive/learn"
)

var nan = math.NaN()

const pooledKey = ""

// bundle is a model file: the predictors of the roles of tags, or of components, and a pooled one for all others.
type bundle struct {
	modelType  ModelType
	horizon    float64 // hours
	predictors []predictor
}

// find returns the predictor of a key, or else the pooled one, or nil.
func (b *bundle) find(key string) (p *predictor, pooled bool) {
	for i := range b.predictors {
		switch q := &b.predictors[i]; {
		case q.key == key && (key != pooledKey || q.only == ""), q.only != "" && q.only == key:
			return q, false
		case q.key == pooledKey:
			p = q
		}
	}
	return p, p != nil
}

// predictor predicts from the features of an extractor.
type predictor struct {
	key string // role of a tag or component, pooledKey for all
	// only is the one component that a pooled predictor knows, if all lives are of it.
	only      string
	shape     bool // rows are those of shape
	lives     int
	extractor *features.Extractor
	boost     *learn.Boost // or
	ridge     *learn.Ridge
	platt     *learn.Platt     // of probabilities
	conformal *learn.Conformal // of remaining lives
	threshold float64          // of probabilities
	limit     float64          // hours, the longest remaining life
	domain    domain
	drift     []*learn.Histogram // by column; nil where the training has no values
}

// answer returns the probability of a failure within the horizon, or the remaining hours.
func (p *predictor) answer(row []float64) float64 {
	if p.platt != nil {
		return p.probability(row)
	}
	return p.hours(row)
}

// probability returns the calibrated probability of a failure within the horizon, 0 for a row that gives none.
func (p *predictor) probability(row []float64) float64 {
	return unit(p.platt.Probability(p.boost.Score(row)))
}

// hours returns the remaining life.
func (p *predictor) hours(row []float64) float64 {
	v := nan
	switch {
	case p.boost != nil:
		v = p.boost.Predict(row)
	case p.ridge != nil:
		v = p.ridge.Predict(row)
	}
	if !finite(v) {
		return 0
	}
	return min(max(v, 0), p.limit)
}

// interval returns the interval of the remaining life.
func (p *predictor) interval(hours float64) (low, high float64) {
	low, high = p.conformal.Interval(hours)
	return min(max(low, 0), hours), max(min(high, p.limit), hours)
}

func (p *predictor) names() []string {
	if p.shape {
		return shapeNames()
	}
	return p.extractor.Names()
}

// unit returns v limited to 0 to 1, 0 for NaN.
func unit(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v, 1)
}

// domain tells how far a row is from those of the training: the root of the mean squared distance of each feature from its median, in
// standard deviations estimated from the quartiles.
type domain struct {
	centre, scale []float64 // scale 0: the column is not judged
	limit         float64   // that 99% of the training stay below
}

// maxOff limits what one feature adds to a distance.
const maxOff = 10

// domainRows is how many rows a domain is made from.
const domainRows = 2000

func newDomain(rows subset) domain {
	n, cols := rows.Dims()
	stride := max((n+domainRows-1)/domainRows, 1)
	d := domain{centre: make([]float64, cols), scale: make([]float64, cols)}
	var values []float64
	for j := range cols {
		values = values[:0]
		for i := 0; i < n; i += stride {
			if v := rows.At(i, j); finite(v) {
				values = append(values, v)
			}
		}
		if len(values) < 2 {
			continue
		}
		slices.Sort(values)
		k := len(values)
		d.centre[j] = values[k/2]
		if d.scale[j] = (values[k*3/4] - values[k/4]) / 1.349; d.scale[j] <= 0 || !finite(d.scale[j]) {
			d.scale[j] = 0
		}
	}
	values = values[:0]
	for i := 0; i < n; i += stride {
		values = append(values, d.distance(rows.Row(i)))
	}
	if len(values) > 0 {
		slices.Sort(values)
		d.limit = values[min(len(values)*99/100, len(values)-1)]
	}
	return d
}

// distance returns how far a row is, 0 if no column can be judged.
func (d *domain) distance(row []float64) float64 {
	sum, n := 0., 0
	for j, v := range row {
		if j < len(d.scale) && d.scale[j] > 0 && finite(v) {
			z := min(math.Abs(v-d.centre[j])/d.scale[j], maxOff)
			sum += z * z
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(n))
}

// factor returns 1 for a row that is like the training, less for others, and 0 for one that lacks more than half of the features, as
// that of a signal that does not change.
func (d *domain) factor(row []float64) float64 {
	judged, missing := 0, 0
	for j, v := range row {
		if j < len(d.scale) && d.scale[j] > 0 {
			judged++
			if !finite(v) {
				missing++
			}
		}
	}
	switch distance := d.distance(row); {
	case judged == 0 || 2*missing > judged:
		return 0
	case distance <= d.limit:
		return 1
	default:
		return unit(d.limit / distance)
	}
}

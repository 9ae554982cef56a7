package features

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/otkit/otkit/predictive/learn"
)

// Group is one life of a unit, from a start to a failure. Lives of a unit are counted from any number.
type Group struct {
	Unit string
	Life int
}

// DatasetOptions changes a [Dataset].
type DatasetOptions struct {
	// MaxRows bounds the memory. When there are more rows, every second one of each life is dropped, then every second of the rest,
	// and so on, so that rows stay evenly spread. Default: 200,000.
	MaxRows int
	// First, unless nil, reports of a life whether its rows are dropped first, such as of one that did not fail where few did. It is called with
	// the first row of the life. Rows of such lives are then farther apart: see [View.Weight].
	First func(Group) bool
	// Step is that of the extractor that the rows are of, for CSV. Rows may be farther apart. Default: the CSV has none.
	Step time.Duration
}

// Dataset has rows of features with a label. It grows by blocks, so that the memory it needs is that of its rows. It may be read
// by several goroutines while none appends.
type Dataset struct {
	names   []string
	maxRows int
	step    time.Duration
	first   func(Group) bool
	strides [2]int // of lives whose rows are dropped last, and first: powers of two, the second one not below the first
	rowsOf  [2]int
	blocks  [][]float64 // of blockRows rows each
	rows    []row
	groups  []Group
	classes []uint8 // of groups: an index of strides
	index   map[Group]int32
	counts  []int // rows that each group offered
}

type row struct {
	group, ordinal int32
	at             int64
	label          float64
}

const blockRows = 512

// NewDataset returns a dataset without rows for columns with names, such as those of [Extractor.Names].
func NewDataset(names []string, options DatasetOptions) (*Dataset, error) {
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("features: %w: a dataset without columns", learn.ErrData)
	case options.MaxRows < 0:
		return nil, fmt.Errorf("features: option MaxRows is %d", options.MaxRows)
	case options.MaxRows == 0:
		options.MaxRows = 200_000
	}
	return &Dataset{names: slices.Clone(names), maxRows: options.MaxRows, step: options.Step, first: options.First, strides: [2]int{1, 1}, index: make(map[Group]int32)}, nil
}

// Append adds a row with its label and copies it. Rows of a life come in the order of time. NaN in a row is a missing value.
func (d *Dataset) Append(group Group, at time.Time, label float64, values []float64) error {
	if len(values) != len(d.names) {
		return fmt.Errorf("features: %w: row of %d values, want %d", learn.ErrData, len(values), len(d.names))
	}
	if math.IsNaN(label) || math.IsInf(label, 0) {
		return fmt.Errorf("features: %w: label %v of %s at %s", learn.ErrData, label, group.Unit, at)
	}
	if !inRange(at) {
		return fmt.Errorf("features: %w: time %v of %s is out of range", learn.ErrData, at, group.Unit)
	}
	g, ok := d.index[group]
	if !ok {
		g = int32(len(d.groups))
		class := uint8(0)
		if d.first != nil && d.first(group) {
			class = 1
		}
		d.index[group], d.groups, d.counts, d.classes = g, append(d.groups, group), append(d.counts, 0), append(d.classes, class)
	}
	r := row{g, int32(d.counts[g]), at.UnixNano(), label}
	d.counts[g]++
	if !d.keeps(r) {
		return nil
	}
	for len(d.rows) >= d.maxRows {
		d.thin()
		if !d.keeps(r) {
			return nil
		}
	}
	d.push(r, values)
	return nil
}

// keeps reports whether a row is among those that the stride leaves. Lives differ in which, so that they do not all lose
// the same moment.
func (d *Dataset) keeps(r row) bool { return r.common(d.strides[d.classes[r.group]]) }

// common reports whether a row is one of those that a stride leaves.
func (r row) common(stride int) bool { return (int(r.ordinal)+int(r.group))%stride == 0 }

// thin doubles the stride of the lives whose rows are dropped first, unless they have fewer rows than the others: then that of the others, whose rows
// are never farther apart.
func (d *Dataset) thin() {
	fewer := d.rowsOf[1] < d.rowsOf[0]
	if fewer {
		d.strides[0] *= 2
	}
	if !fewer || d.strides[1] < d.strides[0] {
		d.strides[1] *= 2
	}
	old := *d
	d.rows, d.rowsOf = d.rows[:0], [2]int{}
	for i, r := range old.rows {
		if d.keeps(r) {
			d.push(r, old.values(i)) // writes at or before what it reads
		}
	}
	d.blocks = slices.Clip(d.blocks[:(len(d.rows)+blockRows-1)/blockRows])
}

func (d *Dataset) push(r row, values []float64) {
	i := len(d.rows)
	d.rows = append(d.rows, r)
	d.rowsOf[d.classes[r.group]]++
	if i/blockRows == len(d.blocks) {
		d.blocks = append(d.blocks, make([]float64, blockRows*len(d.names)))
	}
	copy(d.values(i), values)
}

// values returns row i.
func (d *Dataset) values(i int) []float64 {
	return d.blocks[i/blockRows][i%blockRows*len(d.names):][:len(d.names)]
}

// Names returns the names of the columns.
func (d *Dataset) Names() []string { return slices.Clone(d.names) }

// Thinning returns how many rows that were appended stand behind each row: 1, 2, 4 and so on. Of lives whose rows are dropped first, as many more
// as [View.Weight] tells.
func (d *Dataset) Thinning() int { return d.strides[0] }

// All returns all rows.
func (d *Dataset) All() View {
	rows := make([]int32, len(d.rows))
	for i := range rows {
		rows[i] = int32(i)
	}
	return View{d, rows}
}

// WriteCSV writes a header and the rows: unit, life, time (RFC 3339, UTC), label, stepSeconds if the step is known, and the features, empty where
// missing.
func (d *Dataset) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	record := []string{"unit", "life", "time", "label"}
	if d.step > 0 {
		record = append(record, "stepSeconds")
	}
	record = append(record, d.names...)
	if err := out.Write(record); err != nil {
		return fmt.Errorf("features: writing CSV: %w", err)
	}
	for i, r := range d.rows {
		g := d.groups[r.group]
		record = append(record[:0], g.Unit, strconv.Itoa(g.Life), time.Unix(0, r.at).UTC().Format(time.RFC3339Nano), number(r.label))
		if d.step > 0 {
			record = append(record, number(d.step.Seconds()))
		}
		for _, v := range d.values(i) {
			record = append(record, number(v))
		}
		if err := out.Write(record); err != nil {
			return fmt.Errorf("features: writing CSV: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("features: writing CSV: %w", err)
	}
	return nil
}

// number returns the shortest text that reads back as v, "" for NaN.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// View is some rows of a [Dataset], as a [learn.Matrix]. It is valid until the dataset grows.
type View struct {
	d    *Dataset
	rows []int32
}

// Dims returns the number of rows and columns.
func (v View) Dims() (rows, cols int) { return len(v.rows), len(v.d.names) }

// At returns a feature of a row.
func (v View) At(i, j int) float64 { return v.d.values(int(v.rows[i]))[j] }

// Row returns the features of a row. They must not be changed.
func (v View) Row(i int) []float64 { return v.d.values(int(v.rows[i])) }

// Label returns the label of a row.
func (v View) Label(i int) float64 { return v.d.rows[v.rows[i]].label }

// Labels returns the labels of all rows.
func (v View) Labels() []float64 {
	list := make([]float64, len(v.rows))
	for i := range list {
		list[i] = v.Label(i)
	}
	return list
}

// Weight returns how many rows a row stands for, compared with one of a life whose rows are dropped last: 1 for those, and a power of two, the same
// one, for all others.
func (v View) Weight(i int) float64 {
	return float64(v.d.strides[v.d.classes[v.d.rows[v.rows[i]].group]] / v.d.strides[0])
}

// Common reports whether a row is among those that there would be if all lives had been thinned alike.
func (v View) Common(i int) bool { return v.d.rows[v.rows[i]].common(v.d.strides[1]) }

// Group returns the life of a row.
func (v View) Group(i int) Group { return v.d.groups[v.d.rows[v.rows[i]].group] }

// Time returns the time of a row.
func (v View) Time(i int) time.Time { return time.Unix(0, v.d.rows[v.rows[i]].at).UTC() }

// filter returns the rows that keep is true of.
func (v View) filter(keep func(r row) bool) View {
	var rows []int32
	for _, i := range v.rows {
		if keep(v.d.rows[i]) {
			rows = append(rows, i)
		}
	}
	return View{v.d, rows}
}

package tagsapi

import (
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// GetHistoryAggregates implements GET /api/v1/history/aggregates.
func (t *handlers) GetHistoryAggregates(ctx context.Context, r gen.GetHistoryAggregatesRequestObject) (gen.GetHistoryAggregatesResponseObject, error) {
	p := &r.Params
	table, err := t.historyTable(ctx, p.Tag, p.TimeZone, string(p.Format), string(p.Layout), false)
	if err != nil {
		return nil, err
	}
	q, functions, err := t.aggregateQuery(ctx, p, table.zone)
	if err != nil {
		return nil, err
	}
	store := t.history
	if store == nil {
		store = history.NewMemory()
	}
	if _, err := history.Aggregate(ctx, store, p.Tag, q); err != nil {
		return nil, err
	}
	return &tableAnswer{t: t, ctx: ctx, lane: t.aggregates, table: table, name: "aggregates", write: func(ctx context.Context, w *tableWriter) error {
		all, err := history.Aggregate(ctx, store, p.Tag, q)
		if err != nil {
			return err
		}
		a := aggregates{w, q, functions, all}
		switch {
		case table.wide:
			return a.wide()
		case table.csv:
			return a.long()
		}
		return a.document()
	}}, nil
}

// aggregates writes aggregates.
type aggregates struct {
	*tableWriter
	query     history.Query
	functions []history.Function
	all       []iter.Seq2[history.Interval, error] // by tag
}

// document writes the schema HistoryAggregates.
func (a *aggregates) document() error {
	a.json = restapi.AppendTime(append(a.json, `{"start":`...), a.query.Start)
	a.json = restapi.AppendTime(append(a.json, `,"end":`...), a.query.End)
	a.json = restapi.AppendString(append(a.json, `,"interval":`...), a.query.Period.String())
	if a.query.Zone != nil {
		a.json = restapi.AppendString(append(a.json, `,"timeZone":`...), a.query.Zone.String())
	}
	a.json = append(a.json, `,"series":[`...)
	for n, intervals := range a.all {
		a.json = appendSeries(a.json, n == 0, a.table.tags[n], "intervals")
		first := true
		for i, err := range intervals {
			if err != nil {
				return err
			}
			if !first {
				a.json = append(a.json, ',')
			}
			first = false
			if a.json, err = appendInterval(a.json, &i, a.functions); err != nil {
				return err
			}
			if err := a.raw(); err != nil {
				return err
			}
		}
	}
	a.json = append(a.json, "]}]}"...)
	return a.raw()
}

// cells adds the cells of the functions.
func (a *aggregates) cells(i *history.Interval) error {
	for _, f := range a.functions {
		if f != history.DurationInState {
			a.value(i.Value(f))
			continue
		}
		states, err := appendStates(nil, i)
		if err != nil {
			return err
		}
		a.text(string(states))
	}
	return nil
}

// long writes a row for each tag and interval.
func (a *aggregates) long() error {
	a.row = append(a.row, "tag", "start", "end", "quality", "percentGood", "filled")
	for _, f := range a.functions {
		a.plain(string(f))
	}
	if err := a.endRow(); err != nil {
		return err
	}
	for n, intervals := range a.all {
		for i, err := range intervals {
			if err != nil {
				return err
			}
			a.text(a.table.tags[n])
			a.time(i.Start)
			a.time(i.End)
			a.plain(i.Quality().String())
			a.plain(number(i.PercentGood()))
			a.plain(strconv.FormatBool(i.Filled))
			if err := a.cells(&i); err != nil {
				return err
			}
			if err := a.endRow(); err != nil {
				return err
			}
		}
	}
	return a.flush()
}

func number(f float64) string { return string(restapi.AppendFloat(nil, f)) }

// maxWideBytes bounds what the cells of wide take: those of 100,000 intervals with all functions of numbers fit. Texts and states may not.
const (
	maxWideBytes = 64 << 20
	cellBytes    = 16
)

var errWide = tags.ErrInvalidRequest.Invalid(fault.Field{Field: "layout",
	Message: "must be long: the texts and states of so many intervals are more than 64 MiB"})

// wide writes a row for each interval and columns for each tag. The rows are gathered tag by tag, since reading all tags beside each other
// would take more memory than the cells of as many intervals as there may be.
func (a *aggregates) wide() error {
	a.row = append(a.row, "start", "end")
	for _, name := range a.table.tags {
		for _, f := range a.functions {
			a.text(name + " " + string(f))
		}
	}
	rows := [][]string{slices.Clone(a.row)}
	a.row = a.row[:0]
	size := 0
	for n, intervals := range a.all {
		at := 1
		for i, err := range intervals {
			if err != nil {
				return err
			}
			if n == 0 {
				a.time(i.Start)
				a.time(i.End)
				rows = append(rows, nil)
			}
			if err := a.cells(&i); err != nil {
				return err
			}
			for _, cell := range a.row {
				size += cellBytes + len(cell)
			}
			if size > maxWideBytes {
				return errWide
			}
			rows[at] = append(rows[at], a.row...)
			a.row = a.row[:0]
			at++
		}
	}
	return a.csv.WriteAll(rows)
}

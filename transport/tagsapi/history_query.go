package tagsapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// historyTable is what an answer with the history of several tags looks like.
type historyTable struct {
	tags []string
	zone *time.Location // of the times in CSV
	csv  bool
	wide bool
	head bool // only the head of the answer is wanted
}

// historyTable reads the parameters that both calls have. The tags must be known, or have been.
func (t *handlers) historyTable(ctx context.Context, names []string, zone, format, layout string, csv bool) (historyTable, error) {
	table := historyTable{tags: names, zone: time.UTC, csv: csv, wide: layout == "wide"}
	if r, ok := ctx.Value(requestKey{}).(*http.Request); ok {
		table.head = r.Method == http.MethodHead
		table.csv = prefersCSV(r.Header.Values("Accept"), csv)
	}
	var bad []fault.Field
	switch format {
	case "":
	case "csv", "json":
		table.csv = format == "csv"
	default:
		bad = append(bad, fault.Field{Field: "format", Message: "must be csv or json"})
	}
	if layout != "" && layout != "long" && layout != "wide" {
		bad = append(bad, fault.Field{Field: "layout", Message: "must be long or wide"})
	}
	if table.wide && !table.csv {
		bad = append(bad, fault.Field{Field: "layout", Message: "wide is a layout of CSV"})
	}
	if zone != "" {
		var err error
		if table.zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			bad = append(bad, fault.Field{Field: "timeZone", Message: "must be a name of the IANA time zone database, such as Europe/Berlin"})
		}
	}
	if len(names) == 0 || len(names) > history.MaxAggregateTags {
		bad = append(bad, fault.Field{Field: "tag", Message: "must be there 1 to " + strconv.Itoa(history.MaxAggregateTags) + " times"})
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			bad = append(bad, fault.Field{Field: "tag", Message: "must not be there twice: " + name})
			break
		}
	}
	if len(bad) > 0 {
		return table, tags.ErrInvalidRequest.Invalid(bad...)
	}
	for _, name := range names {
		if err := t.known(ctx, name); err != nil {
			return table, err
		}
	}
	return table, nil
}

// known returns nil if a tag is defined or has a history.
func (t *handlers) known(ctx context.Context, name string) error {
	_, err := t.engine.Read(name)
	if err == nil || t.history == nil || !errors.Is(err, tags.ErrTagNotFound) {
		return err
	}
	return t.recorded(ctx, name, err)
}

// prefersCSV reports whether a caller prefers CSV to JSON. otherwise is for one that takes both alike.
func prefersCSV(accept []string, otherwise bool) bool {
	quality := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		quality[media] = max(quality[media], q)
	}
	of := func(media, group string) float64 {
		for _, name := range []string{media, group, "*/*"} {
			if q, ok := quality[name]; ok {
				return q
			}
		}
		return 0
	}
	csv, json := of("text/csv", "text/*"), of("application/json", "application/*")
	if csv == json {
		return otherwise
	}
	return csv > json
}

// historyRange returns the range of time that is asked for: by default the last 24 hours. The first instant of the year 1, which some programs
// send for "since ever", is not taken for a start that is not there. As an end, where it can mean nothing else, it is: the generated client
// sends it.
func (t *handlers) historyRange(ctx context.Context, start, end time.Time) (time.Time, time.Time, error) {
	given := func(name string) bool {
		r, ok := ctx.Value(requestKey{}).(*http.Request)
		return ok && r.URL.Query().Get(name) != ""
	}
	if end.IsZero() {
		end = t.now()
	}
	if start.IsZero() && !given("start") {
		start = end.Add(-24 * time.Hour)
	}
	if !start.Before(end) {
		return start, end, tags.ErrInvalidTimeRange
	}
	return start, end, nil
}

// aggregateQuery reads which aggregates are asked for.
func (t *handlers) aggregateQuery(ctx context.Context, p *gen.GetHistoryAggregatesParams, zone *time.Location) (q history.Query, functions []history.Function, err error) {
	if q.Start, q.End, err = t.historyRange(ctx, p.Start, p.End); err != nil {
		return q, nil, err
	}
	if q.Period, err = history.ParsePeriod(p.Interval); err != nil {
		return q, nil, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "interval", Message: "must be a number and one of ms, s, m, h, d, w, mo, y, at most 100 years"})
	}
	q.Fill, q.Now = history.Fill(p.Fill), t.now()
	q.Sloped, q.Uncertain = p.Sloped, p.Uncertain
	if p.TimeZone != "" {
		q.Zone = zone
	}
	functions = []history.Function{history.Min, history.Max, history.Average, history.Count}
	if len(p.Function) > 0 {
		functions = nil
	}
	for _, name := range p.Function {
		f := history.Function(name)
		if !slices.Contains(history.Functions(), f) || slices.Contains(functions, f) {
			return q, nil, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "function", Message: "must be of min, max, average, timeAverage, count, first, last, range, stdDev, durationGood, durationInState, each once"})
		}
		functions = append(functions, f)
	}
	return q, functions, nil
}

// tableAnswer is an answer that is written as it is read.
type tableAnswer struct {
	t     *handlers
	ctx   context.Context
	lane  lane
	table historyTable
	name  string // of the file
	write func(context.Context, *tableWriter) error
}

func (a *tableAnswer) send(w http.ResponseWriter) error {
	d := restapi.Download{ContentType: "application/json"}
	if a.table.csv {
		d.ContentType, d.Name = "text/csv; charset=utf-8", a.name+".csv"
	}
	if a.table.head {
		d.Head(w)
		return nil
	}
	leave, err := a.lane.enter(a.ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := a.t.live(a.ctx)
	defer cancel()
	return d.Send(w, func(w io.Writer) error { return a.write(ctx, newTableWriter(w, a.table)) })
}

// VisitGetHistoryAggregatesResponse implements gen.GetHistoryAggregatesResponseObject.
func (a *tableAnswer) VisitGetHistoryAggregatesResponse(w http.ResponseWriter) error {
	return a.send(w)
}

// VisitExportHistoryResponse implements gen.ExportHistoryResponseObject.
func (a *tableAnswer) VisitExportHistoryResponse(w http.ResponseWriter) error { return a.send(w) }

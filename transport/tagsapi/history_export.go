package tagsapi

import (
	"context"
	"iter"
	"time"

	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// ExportHistory implements GET /api/v1/history/export.
func (t *handlers) ExportHistory(ctx context.Context, r gen.ExportHistoryRequestObject) (gen.ExportHistoryResponseObject, error) {
	p := &r.Params
	table, err := t.historyTable(ctx, p.Tag, p.TimeZone, string(p.Format), string(p.Layout), true)
	if err != nil {
		return nil, err
	}
	start, end, err := t.historyRange(ctx, p.Start, p.End)
	if err != nil {
		return nil, err
	}
	store := t.history
	if store == nil {
		store = history.NewMemory()
	}
	return &tableAnswer{t: t, ctx: ctx, lane: t.exports, table: table, name: "history", write: func(ctx context.Context, w *tableWriter) error {
		s := samples{tableWriter: w, ctx: ctx, store: store, start: start, end: end}
		switch {
		case table.wide:
			return s.wide()
		case table.csv:
			return s.long()
		}
		return s.document()
	}}, nil
}

// samples writes samples as they are stored.
type samples struct {
	*tableWriter
	ctx        context.Context
	store      history.Store
	start, end time.Time
}

// document writes the schema HistorySamples.
func (s *samples) document() error {
	s.json = restapi.AppendTime(append(s.json, `{"start":`...), s.start)
	s.json = restapi.AppendTime(append(s.json, `,"end":`...), s.end)
	s.json = append(s.json, `,"series":[`...)
	for n, name := range s.table.tags {
		s.json = appendSeries(s.json, n == 0, name, "points")
		first := true
		for point, err := range s.store.Range(s.ctx, name, s.start, s.end) {
			if err != nil {
				return err
			}
			if !first {
				s.json = append(s.json, ',')
			}
			first = false
			if s.json, err = appendSample(s.json, &point); err != nil {
				return err
			}
			if err := s.raw(); err != nil {
				return err
			}
		}
	}
	s.json = append(s.json, "]}]}"...)
	return s.raw()
}

// long writes a row for each sample, tag by tag.
func (s *samples) long() error {
	s.row = append(s.row, "tag", "timestamp", "value", "quality", "qualityReason")
	if err := s.endRow(); err != nil {
		return err
	}
	for _, name := range s.table.tags {
		for point, err := range s.store.Range(s.ctx, name, s.start, s.end) {
			if err != nil {
				return err
			}
			s.text(name)
			s.time(point.Time)
			s.value(point.Value)
			s.plain(point.Quality.String())
			s.plain(point.Reason.String())
			if err := s.endRow(); err != nil {
				return err
			}
		}
	}
	return s.flush()
}

// wide writes a row for each time at which a tag has a sample, and columns for each tag.
func (s *samples) wide() error {
	s.row = append(s.row, "timestamp")
	heads := make([]seriesHead, len(s.table.tags))
	for i, name := range s.table.tags {
		s.text(name)
		s.text(name + " quality")
		next, stop := iter.Pull2(s.inPortions(name))
		defer stop()
		heads[i].next = next
		if err := heads[i].advance(); err != nil {
			return err
		}
	}
	for {
		if err := s.endRow(); err != nil {
			return err
		}
		at, found := earliestOf(heads)
		if !found {
			return s.flush()
		}
		s.time(at)
		for i := range heads {
			h := &heads[i]
			if !h.has || !h.sample.Time.Equal(at) {
				s.row = append(s.row, "", "")
				continue
			}
			s.value(h.sample.Value)
			s.plain(h.sample.Quality.String())
			if err := h.advance(); err != nil {
				return err
			}
		}
	}
}

// portion is how many samples of a tag are read before the range begins again behind them: a range reads more ahead the longer it is read.
const portion = 4096

func (s *samples) inPortions(name string) iter.Seq2[history.Sample, error] {
	return func(yield func(history.Sample, error) bool) {
		for from, more := s.start, true; more; {
			n := 0
			more = false
			for point, err := range s.store.Range(s.ctx, name, from, s.end) {
				if !yield(point, err) || err != nil {
					return
				}
				if n++; n == portion {
					from, more = point.Time.Add(time.Microsecond), true
					break
				}
			}
		}
	}
}

// seriesHead is the next sample of a tag.
type seriesHead struct {
	next   func() (history.Sample, error, bool)
	sample history.Sample
	has    bool
}

func (h *seriesHead) advance() (err error) {
	h.sample, err, h.has = h.next()
	return err
}

func earliestOf(heads []seriesHead) (at time.Time, found bool) {
	for i := range heads {
		if heads[i].has && (!found || heads[i].sample.Time.Before(at)) {
			at, found = heads[i].sample.Time, true
		}
	}
	return at, found
}

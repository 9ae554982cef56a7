package tagsapi

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/otkit/otkit/internal/formula"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// tableWriter writes the members of a JSON document, or the rows of a CSV file.
type tableWriter struct {
	table historyTable
	out   io.Writer
	csv   *csv.Writer
	row   []string
	json  []byte
}

func newTableWriter(w io.Writer, table historyTable) *tableWriter {
	t := &tableWriter{table: table, out: w}
	if table.csv {
		t.csv = csv.NewWriter(w)
		t.csv.UseCRLF = true
	}
	return t
}

// text adds a cell that may be taken for a formula.
func (w *tableWriter) text(s string) { w.row = append(w.row, formula.Disarm(s)) }

// plain adds a cell that is no text.
func (w *tableWriter) plain(s string) { w.row = append(w.row, s) }

func (w *tableWriter) time(t time.Time) {
	w.row = append(w.row, t.In(w.table.zone).Format(time.RFC3339Nano))
}

func (w *tableWriter) value(v tags.Value) {
	if v.Type() == tags.String || v.Type() == tags.Bytes {
		w.text(v.String())
		return
	}
	w.plain(v.String())
}

// endRow ends a row.
func (w *tableWriter) endRow() error {
	err := w.csv.Write(w.row)
	w.row = w.row[:0]
	return err
}

func (w *tableWriter) flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// raw writes the JSON that was appended.
func (w *tableWriter) raw() error {
	_, err := w.out.Write(w.json)
	w.json = w.json[:0]
	return err
}

// appendSeries begins the JSON of one tag.
func appendSeries(dst []byte, first bool, name, items string) []byte {
	if !first {
		dst = append(dst, ']', '}', ',')
	}
	dst = restapi.AppendString(append(dst, `{"tagName":`...), name)
	return append(append(append(dst, `,"`...), items...), `":[`...)
}

// appendInterval appends the schema HistoryInterval.
func appendInterval(dst []byte, i *history.Interval, functions []history.Function) ([]byte, error) {
	dst = restapi.AppendTime(append(dst, `{"start":`...), i.Start)
	dst = restapi.AppendTime(append(dst, `,"end":`...), i.End)
	dst = restapi.AppendString(append(dst, `,"quality":`...), i.Quality().String())
	dst = restapi.AppendFloat(append(dst, `,"percentGood":`...), i.PercentGood())
	if i.Filled {
		dst = append(dst, `,"filled":true`...)
	}
	for _, f := range functions {
		dst = restapi.AppendString(append(dst, ','), string(f))
		dst = append(dst, ':')
		v := i.Value(f)
		var err error
		switch {
		case f == history.DurationInState:
			dst, err = appendStates(dst, i)
		case f == history.Min || f == history.Max || f == history.First || f == history.Last:
			dst, err = v.AppendJSON(dst)
		case v.IsZero():
			dst = append(dst, "null"...)
		case f == history.Count:
			dst = strconv.AppendInt(dst, v.Int(), 10)
		default:
			number, _ := v.Float()
			dst = restapi.AppendFloat(dst, number)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendStates appends the durations of states; null if there were too many.
func appendStates(dst []byte, i *history.Interval) ([]byte, error) {
	if i.Stats.ManyStates {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '[')
	var err error
	for n, s := range i.Stats.States {
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, err = s.Value.AppendJSON(append(dst, `{"value":`...)); err != nil {
			return nil, err
		}
		dst = restapi.AppendFloat(append(dst, `,"seconds":`...), s.Held.Seconds())
		dst = append(dst, '}')
	}
	return append(dst, ']'), nil
}

// appendSample appends the schema HistorySample.
func appendSample(dst []byte, s *history.Sample) ([]byte, error) {
	dst = restapi.AppendTime(append(dst, `{"timestamp":`...), s.Time)
	dst, err := s.Value.AppendJSON(append(dst, `,"value":`...))
	if err != nil {
		return nil, err
	}
	dst = restapi.AppendString(append(dst, `,"quality":`...), s.Quality.String())
	if reason := s.Reason.String(); reason != "" {
		dst = restapi.AppendString(append(dst, `,"qualityReason":`...), reason)
	}
	return append(dst, '}'), nil
}

package recordcsv

import (
	"context"
	"encoding/csv"
	"io"
	"iter"

	"github.com/otkit/otkit/internal/formula"
	"github.com/otkit/otkit/predictive"
)

const utf8BOM = "\xef\xbb\xbf"

// WriteFailures writes failures as they come. It ends with the first error of the sequence.
func WriteFailures(w io.Writer, failures iter.Seq2[predictive.Failure, error]) error {
	return write(w, failureColumns, failures)
}

// WriteReplacements is [WriteFailures] for replacements.
func WriteReplacements(w io.Writer, replacements iter.Seq2[predictive.Replacement, error]) error {
	return write(w, replacementColumns, replacements)
}

func write[R any](w io.Writer, columns []column[R], records iter.Seq2[R, error]) error {
	if _, err := io.WriteString(w, utf8BOM); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for r, err := range records {
		if err != nil {
			return err
		}
		for i, c := range columns {
			if c.time != nil {
				row[i] = formatTime(*c.time(&r))
			} else {
				row[i] = formula.Disarm(*c.text(&r))
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// pageSize is how many records are read at a time.
const pageSize = 1000

// Failures returns the failures that a query selects, in pages, for [WriteFailures]. Offset, Limit and Count of the query are ignored.
func Failures(ctx context.Context, from predictive.RecordReader, q predictive.RecordQuery) iter.Seq2[predictive.Failure, error] {
	return all(ctx, from.Failures, q, failureColumns[5])
}

// Replacements is [Failures] for replacements.
func Replacements(ctx context.Context, from predictive.RecordReader, q predictive.RecordQuery) iter.Seq2[predictive.Replacement, error] {
	return all(ctx, from.Replacements, q, replacementColumns[3])
}

// all reads page after page. Each begins at the time of the last record, so that records which are added or deleted meanwhile move no
// others out of the next page.
func all[R any](ctx context.Context, read func(context.Context, predictive.RecordQuery) (predictive.Page[R], error), q predictive.RecordQuery, at column[R]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		q.Offset, q.Limit, q.Count = 0, pageSize, false
		for {
			p, err := read(ctx, q)
			if err != nil {
				var none R
				yield(none, err)
				return
			}
			for i := range p.Items {
				if t := *at.time(&p.Items[i]); t.Equal(q.From) {
					q.Offset++
				} else {
					q.From, q.Offset = t, 1
				}
				if !yield(p.Items[i], nil) {
					return
				}
			}
			if len(p.Items) < pageSize {
				return
			}
		}
	}
}

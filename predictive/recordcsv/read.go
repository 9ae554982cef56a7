package recordcsv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/formula"
	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/predictive"
)

// ErrFile is the error of a file that cannot be read. Its fields name line and column: "line 3, column start".
var ErrFile = fault.New(fault.Invalid, "INVALID_CSV", "the CSV file is not valid")

// ErrTooManyRows is the error of a file with more rows than [Options].MaxRows.
var ErrTooManyRows = fault.New(fault.TooLarge, "TOO_MANY_ROWS", "the CSV file has too many rows")

// MaxRow is the size of the longest row, in bytes.
const MaxRow = 64 << 10

// Options of reading. The zero value works.
type Options struct {
	MaxRows  int            // rows below the first; default 100,000
	Location *time.Location // of times without an offset; default UTC
	NewID    func() string  // ids of records without one; default random UUIDs
	Now      time.Time      // of the import: times after it are refused; zero allows them
	OnLine   func(line int) // is called with the first line of each record before it is yielded; may be nil
}

func (o Options) withDefaults() Options {
	if o.MaxRows <= 0 {
		o.MaxRows = 100_000
	}
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return o
}

// ReadFailures reads failures row by row, each valid by [predictive.Failure.ValidateAt]. A row that is not gives an [ErrFile] with a field for each
// cell, and the next rows follow. Every other error ends the sequence: what is no CSV, a row above [MaxRow], [ErrTooManyRows], an error of
// r. Memory does not grow with the file.
func ReadFailures(r io.Reader, o Options) iter.Seq2[predictive.Failure, error] {
	o = o.withDefaults()
	return read(r, o, failureColumns, func(f *predictive.Failure) error {
		f.ID, f.Source = orNew(f.ID, o), orCSV(f.Source)
		return f.ValidateAt(o.Now)
	})
}

// ReadReplacements is [ReadFailures] for replacements.
func ReadReplacements(r io.Reader, o Options) iter.Seq2[predictive.Replacement, error] {
	o = o.withDefaults()
	return read(r, o, replacementColumns, func(r *predictive.Replacement) error {
		r.ID, r.Source, r.Reason = orNew(r.ID, o), orCSV(r.Source), predictive.Reason(strings.ToLower(string(r.Reason)))
		return r.ValidateAt(o.Now)
	})
}

func orNew(id string, o Options) string {
	if id == "" {
		return o.NewID()
	}
	return id
}

func orCSV(s predictive.Source) predictive.Source {
	if s == "" {
		return predictive.SourceCSV
	}
	return predictive.Source(strings.ToLower(string(s)))
}

func read[R any](r io.Reader, o Options, columns []column[R], complete func(*R) error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		limit := &rowLimit{r: r, left: MaxRow}
		in, err := newReader(limit)
		var heads []*column[R]
		var none R
		for rows := 0; err == nil; {
			var cells []string
			limit.left = MaxRow
			if cells, err = in.Read(); err != nil {
				break
			}
			line, _ := in.FieldPos(0)
			switch {
			case heads == nil:
				heads, err = header(line, cells, columns)
				continue
			case rows == o.MaxRows:
				err = ErrTooManyRows.Because("at most %d are read", o.MaxRows)
				continue
			}
			rows++
			if strings.TrimSpace(strings.Join(cells, "")) == "" {
				continue
			}
			record, bad := parse(line, cells, heads, o, complete)
			if bad != nil {
				record = none
			}
			if o.OnLine != nil {
				o.OnLine(line)
			}
			if !yield(record, bad) {
				return
			}
		}
		if err = explain(err); err == nil && heads == nil {
			err = ErrFile.Because("it is empty")
		}
		if err != nil {
			yield(none, err)
		}
	}
}

// newReader returns a reader of the rows behind the byte order mark.
func newReader(r io.Reader) (*csv.Reader, error) {
	b := bufio.NewReaderSize(r, 16<<10)
	start, err := b.Peek(b.Size())
	if err != nil && !errors.Is(err, io.EOF) && len(start) == 0 {
		return nil, err
	}
	if bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) {
		return nil, ErrFile.Because("it is UTF-16; save it as \"CSV UTF-8\"")
	}
	if bytes.HasPrefix(start, []byte(utf8BOM)) {
		_, _ = b.Discard(len(utf8BOM))
	}
	in := csv.NewReader(b)
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	if head, _, _ := bytes.Cut(start, []byte("\n")); bytes.ContainsRune(head, ';') && !bytes.ContainsRune(head, ',') {
		in.Comma = ';'
	}
	return in, nil
}

// explain returns the error that ends a sequence.
func explain(err error) error {
	var p *csv.ParseError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, errRowTooLong):
		return ErrFile.Because("a row has more than %d bytes, or a quotation mark is not closed", MaxRow)
	case errors.As(err, &p):
		return ErrFile.Invalid(fault.Field{Field: fmt.Sprintf("line %d", p.Line), Message: p.Err.Error()})
	}
	return err
}

// header returns the column of each cell, nil for an empty one.
func header[R any](line int, cells []string, columns []column[R]) ([]*column[R], error) {
	heads := make([]*column[R], len(cells))
	found := make(map[string]bool)
	var bad []fault.Field
	for i, cell := range cells {
		name := strings.TrimSpace(formula.Rearm(cell))
		for c := range columns {
			if strings.EqualFold(columns[c].name, name) {
				heads[i] = &columns[c]
			}
		}
		switch {
		case name == "":
		case heads[i] == nil:
			bad = append(bad, place(line, runes.Shorten(name, 100), "is not known; known are "+names(columns)))
		case found[heads[i].name]:
			bad = append(bad, place(line, heads[i].name, "is there twice"))
		default:
			found[heads[i].name] = true
		}
		if len(bad) == maxBad {
			break
		}
	}
	for _, c := range columns {
		if c.required && !found[c.name] {
			bad = append(bad, place(line, c.name, "is missing"))
		}
	}
	if len(bad) > 0 {
		return nil, ErrFile.Invalid(bad...)
	}
	return heads, nil
}

const maxBad = 20 // columns of the first row that an error names

func names[R any](columns []column[R]) string {
	var list []string
	for _, c := range columns {
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}

func place(line int, column, rule string) fault.Field {
	return fault.Field{Field: fmt.Sprintf("line %d, column %s", line, column), Message: rule}
}

// parse returns the record of a row.
func parse[R any](line int, cells []string, heads []*column[R], o Options, complete func(*R) error) (record R, err error) {
	var bad []fault.Field
	for i, cell := range cells {
		if i >= len(heads) || heads[i] == nil {
			if strings.TrimSpace(cell) != "" {
				bad = append(bad, place(line, fmt.Sprint(i+1), "has no name in the first row"))
				break
			}
			continue
		}
		c := heads[i]
		if !utf8.ValidString(cell) {
			bad = append(bad, place(line, c.name, "is not UTF-8; save the file as \"CSV UTF-8\""))
			continue
		}
		cell = formula.Rearm(strings.Clone(cell))
		if c.name != "note" {
			cell = strings.TrimSpace(cell)
		}
		if c.time == nil {
			*c.text(&record) = cell
			continue
		}
		t, ok := parseTime(cell, o.Location)
		if !ok && cell != "" {
			bad = append(bad, place(line, c.name, fmt.Sprintf("must be a time such as 2026-01-31T12:00:00Z, not %q", runes.Shorten(cell, 50))))
		}
		*c.time(&record) = t
	}
	err = complete(&record)
	if e, ok := fault.From(err); ok {
		for _, f := range e.Fields {
			field := place(line, f.Field, f.Message)
			if !reported(bad, field) {
				bad = append(bad, field)
			}
		}
	}
	if len(bad) > 0 {
		return record, ErrFile.Invalid(bad...)
	}
	return record, err
}

// reported reports whether a cell is bad for another reason.
func reported(bad []fault.Field, field fault.Field) bool {
	for _, f := range bad {
		if f.Field == field.Field {
			return true
		}
	}
	return false
}

var errRowTooLong = errors.New("row is too long")

// rowLimit bounds what is read for one row.
type rowLimit struct {
	r    io.Reader
	left int
}

func (l *rowLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errRowTooLong
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

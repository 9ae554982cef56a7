package tagconfig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"slices"
	"strings"

	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/internal/xlsx"
)

// Format is a format of Import and Export.
type Format string

// The formats.
const (
	CSV  Format = "csv"
	XLSX Format = "xlsx"
	JSON Format = "json"
)

var contentTypes = map[Format]string{
	CSV:  "text/csv",
	XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	JSON: "application/json",
}

// ParseFormat reads csv, xlsx or json, in any case. The error is an ErrFormat.
func ParseFormat(s string) (Format, error) {
	f := Format(strings.ToLower(s))
	if _, ok := contentTypes[f]; !ok {
		return "", ErrFormat
	}
	return f, nil
}

// ParseContentType returns the format of a media type; parameters such as a charset do not matter. The
// error is an ErrFormat.
func ParseContentType(s string) (Format, error) {
	media, _, err := mime.ParseMediaType(s)
	if err != nil {
		return "", ErrFormat.Wrap(err)
	}
	for f, name := range contentTypes {
		if media == name {
			return f, nil
		}
	}
	return "", ErrFormat
}

// ContentType returns the media type of an export.
func (f Format) ContentType() string {
	if f == CSV {
		return contentTypes[f] + "; charset=utf-8"
	}
	return contentTypes[f]
}

// Export writes items to w as they come. A CSV begins with a byte order mark, without which Excel takes UTF-8 for
// something else; its lines end in CRLF. If Export fails, part of the file may have been written.
func Export(w io.Writer, format Format, items iter.Seq[Config]) error {
	switch format {
	case CSV:
		return exportCSV(w, items)
	case XLSX:
		return exportXLSX(w, items)
	case JSON:
		return exportJSON(w, items)
	}
	return ErrFormat
}

// Limits bounds what Import reads. Zero members take their default.
type Limits struct {
	Rows     int   // items; default 200,000
	Bytes    int64 // of the file; default 128 MiB
	Unzipped int64 // of the parts of an XLSX file that are read; default 512 MiB

	// Progress, unless nil, is called with the number of items that have been read, after every 1,000. If it returns an
	// error, Import stops and returns it.
	Progress func(items int) error
	// Odd, unless nil, is called with each item of a JSON file that may have members that [Config] does not have, and with what was
	// understood of it.
	Odd func(item []byte, c *Config)
}

func (l Limits) complete() (Limits, error) {
	if l.Rows < 0 || l.Bytes < 0 || l.Unzipped < 0 {
		return l, errors.New("tagconfig: Limits must not be negative")
	}
	if l.Rows == 0 {
		l.Rows = 200_000
	}
	if l.Bytes == 0 {
		l.Bytes = 128 << 20
	}
	if l.Unzipped == 0 {
		l.Unzipped = 512 << 20
	}
	if l.Progress == nil {
		l.Progress = func(int) error { return nil }
	}
	return l, nil
}

// Import reads items with the default Limits.
func Import(r io.Reader, format Format) ([]Config, error) { return Limits{}.Import(r, format) }

// Import reads items and checks them as Bulk would. JSON is an array of items or a model file. Beside the items, only an XLSX
// file is in memory, packed; if r is an io.ReaderAt and io.Seeker such as a file, that is not either. The
// error is an ErrSpreadsheet that names each bad cell as "row 7, column minValue" (in JSON as
// [3].minValue), up to 100 of them; ErrNotJSON with the place of what is not; ErrEmpty when there is no item; ErrSheetSize above a limit.
func (l Limits) Import(r io.Reader, format Format) ([]Config, error) {
	e, err := l.ImportEdit(r, format)
	return e.Put, err
}

// ImportEdit is Import, and returns an edit that Apply does not check and copy again. Its Put must not be changed.
func (l Limits) ImportEdit(r io.Reader, format Format) (Edit, error) {
	l, err := l.complete()
	if err != nil {
		return Edit{}, err
	}
	t := table{limits: l}
	switch format {
	case CSV:
		err = t.importCSV(&bounded{r: r, left: l.Bytes})
	case XLSX:
		err = t.importXLSX(r)
	case JSON:
		err = t.importJSON(&bounded{r: r, left: l.Bytes})
	default:
		return Edit{}, ErrFormat
	}
	if err == nil || errors.Is(err, errFull) {
		err = t.bad.err(ErrSpreadsheet)
	}
	if err == nil && len(t.items) == 0 {
		err = ErrEmpty
	}
	if err != nil {
		return Edit{}, err
	}
	return Edit{Put: t.items, checked: true}, nil
}

// errFull ends an import with as many faults as are listed.
var errFull = errors.New("too many faults")

// notRead returns the error for a file that could not be read to its end.
func notRead(err error) error {
	if errors.Is(err, ErrSheetSize) {
		return err
	}
	return ErrSpreadsheet.Because("it could not be read to its end").Wrap(err)
}

// bounded reads up to a limit, where it fails with an ErrSheetSize.
type bounded struct {
	r    io.Reader
	left int64
	read int64
	err  error // of r; not io.EOF
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.read += int64(n)
	if b.read > b.left {
		n, err = 0, ErrSheetSize.Because("at most %d bytes", b.left)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// withoutMark returns what r has behind a byte order mark.
func withoutMark(r io.Reader) *bufio.Reader {
	in := bufio.NewReaderSize(r, 64<<10)
	if head, _ := in.Peek(len(utf8BOM)); bytes.Equal(head, utf8BOM) {
		_, _ = in.Discard(len(utf8BOM)) // it is in the buffer
	}
	return in
}

// table collects the rows of a spreadsheet.
type table struct {
	limits Limits
	heads  []int // column of each cell, -1 where the heading is empty
	items  []Config
	bad    faults
}

// maxColumns bounds the width of a row: a cell far to the right costs its sender nothing.
const maxColumns = 256

// header reads the first row, whose number is 1 unless there are empty ones above it.
func (t *table) header(number int, cells []string) error {
	row := fmt.Sprintf("row %d", number)
	if len(cells) > maxColumns {
		t.bad.add(row, "has more than %d columns", maxColumns)
		return errFull
	}
	seen := map[int]bool{}
	for i, cell := range cells {
		at := columnAt(strings.TrimSpace(cell))
		switch {
		case strings.TrimSpace(cell) == "":
		case at < 0:
			t.bad.add(row+", column "+xlsx.Letters(i), "the heading %q is not known", clip(cell))
		case seen[at]:
			t.bad.add(row+", column "+xlsx.Letters(i), "the heading %s is there twice", columns[at].name)
		}
		seen[at] = true
		t.heads = append(t.heads, at)
	}
	for _, name := range []string{"tagId", "driverId", "dataType"} {
		if !seen[columnAt(name)] {
			t.bad.add(row, "the column %s is missing", name)
		}
	}
	if len(t.bad.list) > 0 {
		return errFull
	}
	return nil
}

// row reads one further row. It returns errFull where reading is not to go on because of faults.
func (t *table) row(number int, cells []string) error {
	if len(cells) > maxColumns {
		t.bad.add(fmt.Sprintf("row %d", number), "has more than %d columns", maxColumns)
		return t.full()
	}
	if !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
		return nil
	}
	c, err := t.next()
	if err != nil {
		return err
	}
	before := t.bad.count()
	for i, cell := range cells {
		if cell == "" {
			continue
		}
		if i >= len(t.heads) || t.heads[i] < 0 {
			t.bad.add(fmt.Sprintf("row %d, column %s", number, xlsx.Letters(i)), "the column has no heading")
			continue
		}
		col := &columns[t.heads[i]]
		if msg := col.set(c, cell); msg != "" {
			t.bad.add(cellPlace(number, col.name), "%s", msg)
		}
	}
	c.normalize()
	if t.bad.count() == before {
		c.validate(func(member, format string, args ...any) {
			t.bad.add(cellPlace(number, member), format, args...)
		})
	}
	return t.full()
}

// next returns a new item.
func (t *table) next() (*Config, error) {
	if len(t.items) == t.limits.Rows {
		return nil, ErrSheetSize.Because("at most %d tags", t.limits.Rows)
	}
	if n := len(t.items); n == cap(t.items) {
		t.items = slices.Grow(t.items, max(1000, n)) // append would copy large lists more often
	}
	t.items = append(t.items, Config{})
	if n := len(t.items); n%1000 == 0 {
		if err := t.limits.Progress(n); err != nil {
			return nil, err
		}
	}
	return &t.items[len(t.items)-1], nil
}

func (t *table) full() error {
	if t.bad.full() {
		return errFull
	}
	return nil
}

func cellPlace(row int, column string) string { return fmt.Sprintf("row %d, column %s", row, column) }

// clip returns the first characters of a caller's text, few enough to be sent back in an error.
func clip(s string) string {
	return runes.Cut(runes.Valid(s), 64)
}

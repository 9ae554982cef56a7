package tagconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/otkit/otkit/internal/runes"
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

// Export writes items to w. A CSV begins with a byte order mark, without which Excel takes UTF-8 for
// something else; its lines end in CRLF.
func Export(w io.Writer, format Format, items []Config) error {
	switch format {
	case CSV:
		return exportCSV(w, items)
	case XLSX:
		return exportXLSX(w, items)
	case JSON:
		if items == nil {
			items = []Config{}
		}
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(items)
	}
	return ErrFormat
}

// Limits bounds what Import reads. Zero members take their default.
type Limits struct {
	Rows     int   // items; default 200,000
	Bytes    int64 // of the file; default 64 MiB
	Unzipped int64 // of all parts of an XLSX file; default 512 MiB
}

func (l Limits) complete() (Limits, error) {
	if l.Rows < 0 || l.Bytes < 0 || l.Unzipped < 0 {
		return l, errors.New("tagconfig: Limits must not be negative")
	}
	if l.Rows == 0 {
		l.Rows = 200_000
	}
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	if l.Unzipped == 0 {
		l.Unzipped = 512 << 20
	}
	return l, nil
}

// Import reads items with the default Limits.
func Import(r io.Reader, format Format) ([]Config, error) { return Limits{}.Import(r, format) }

// Import reads items and checks them as Bulk would. JSON is an array of items or a model file. The
// error is an ErrSpreadsheet that names each bad cell as "row 7, column minValue" (in JSON as
// [3].minValue), up to 100 of them; ErrEmpty when there is no item; ErrSheetSize above a limit.
func (l Limits) Import(r io.Reader, format Format) ([]Config, error) {
	l, err := l.complete()
	if err != nil {
		return nil, err
	}
	if _, known := contentTypes[format]; !known {
		return nil, ErrFormat
	}
	data, err := io.ReadAll(io.LimitReader(r, l.Bytes+1))
	if err != nil {
		return nil, ErrSpreadsheet.Because("it could not be read to its end").Wrap(err)
	}
	if int64(len(data)) > l.Bytes {
		return nil, ErrSheetSize.Because("at most %d bytes", l.Bytes)
	}
	var items []Config
	switch format {
	case CSV:
		items, err = importCSV(bytes.TrimPrefix(data, utf8BOM), l.Rows)
	case XLSX:
		items, err = importXLSX(data, l)
	case JSON:
		items, err = importJSON(bytes.TrimPrefix(data, utf8BOM), l.Rows)
	}
	if err == nil && len(items) == 0 {
		err = ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	return items, nil
}

func importJSON(data []byte, maxRows int) ([]Config, error) {
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, ErrSpreadsheet.Because("%s", syntaxPlace(data, err))
	}
	list, _, ok := splitArray(raw, 1)
	if !ok {
		var file struct {
			Variables json.RawMessage `json:"variables"`
		}
		if json.Unmarshal(raw, &file) == nil {
			list, _, ok = splitArray(file.Variables, 1)
		}
	}
	if !ok {
		return nil, ErrSpreadsheet.Because("must be an array of tags or a model file")
	}
	if len(list) > maxRows {
		return nil, ErrSheetSize.Because("at most %d tags", maxRows)
	}
	var bad faults
	items := make([]Config, len(list))
	for i := range list {
		add := func(member, format string, args ...any) { bad.add(indexPlace(i, member), format, args...) }
		if decodeItem(list[i], &items[i], add) {
			items[i].normalize()
			items[i].validate(add)
		}
		if bad.full() {
			break
		}
	}
	return items, bad.err(ErrSpreadsheet)
}

// table collects the rows of a spreadsheet.
type table struct {
	maxRows int
	heads   []int // column of each cell, -1 where the heading is empty
	items   []Config
	bad     faults
}

// maxColumns bounds the width of a row: a cell far to the right costs its sender nothing.
const maxColumns = 256

// header reads the first row.
func (t *table) header(cells []string) {
	if len(cells) > maxColumns {
		t.bad.add("row 1", "has more than %d columns", maxColumns)
		return
	}
	seen := map[int]bool{}
	for i, cell := range cells {
		at := columnAt(strings.TrimSpace(cell))
		switch {
		case strings.TrimSpace(cell) == "":
		case at < 0:
			t.bad.add("row 1, column "+letters(i), "the heading %q is not known", clip(cell))
		case seen[at]:
			t.bad.add("row 1, column "+letters(i), "the heading %s is there twice", columns[at].name)
		}
		seen[at] = true
		t.heads = append(t.heads, at)
	}
	for _, name := range []string{"tagId", "driverId", "dataType"} {
		if !seen[columnAt(name)] {
			t.bad.add("row 1", "the column %s is missing", name)
		}
	}
}

// row reads one further row. It reports whether reading should continue.
func (t *table) row(number int, cells []string) (bool, error) {
	if len(cells) > maxColumns {
		t.bad.add(fmt.Sprintf("row %d", number), "has more than %d columns", maxColumns)
		return !t.bad.full(), nil
	}
	var c Config
	empty, before := true, len(t.bad.list)
	for i, cell := range cells {
		if cell == "" {
			continue
		}
		empty = false
		if i >= len(t.heads) || t.heads[i] < 0 {
			t.bad.add(fmt.Sprintf("row %d, column %s", number, letters(i)), "the column has no heading")
			continue
		}
		col := &columns[t.heads[i]]
		if msg := col.set(&c, cell); msg != "" {
			t.bad.add(cellPlace(number, col.name), "%s", msg)
		}
		if t.bad.full() {
			return false, nil
		}
	}
	if empty {
		return true, nil
	}
	if len(t.items) == t.maxRows {
		return false, ErrSheetSize.Because("at most %d rows", t.maxRows)
	}
	c.normalize()
	if len(t.bad.list) == before {
		c.validate(func(member, format string, args ...any) {
			t.bad.add(cellPlace(number, member), format, args...)
		})
	}
	t.items = append(t.items, c)
	return !t.bad.full(), nil
}

func (t *table) result() ([]Config, error) { return t.items, t.bad.err(ErrSpreadsheet) }

func cellPlace(row int, column string) string { return fmt.Sprintf("row %d, column %s", row, column) }

// letters returns a spreadsheet's name of column i: A, B, ..., Z, AA.
func letters(i int) string {
	name := ""
	for i++; i > 0; i = (i - 1) / 26 {
		name = string(rune('A'+(i-1)%26)) + name
	}
	return name
}

// clip returns the first characters of a caller's text, few enough to be sent back in an error.
func clip(s string) string {
	return runes.Cut(runes.Valid(s), 64)
}

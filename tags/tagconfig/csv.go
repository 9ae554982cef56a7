package tagconfig

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/internal/formula"
)

func exportCSV(w io.Writer, items []Config) error {
	if _, err := w.Write(utf8BOM); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := make([]string, len(columns))
	for i := range columns {
		row[i] = columns[i].name
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for k := range items {
		for i := range columns {
			row[i] = formatCell(columns[i].get(&items[k]))
			if columns[i].text {
				row[i] = formula.Disarm(row[i])
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func importCSV(data []byte, maxRows int) ([]Config, error) {
	in := csv.NewReader(bytes.NewReader(data))
	in.Comma = separator(data)
	in.FieldsPerRecord = -1
	in.ReuseRecord = true
	t := table{maxRows: maxRows}
	extraLines := 0 // of cells with line breaks: a spreadsheet counts rows, not lines
	for first := true; ; first = false {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			var parse *csv.ParseError
			if errors.As(err, &parse) {
				return nil, ErrSpreadsheet.Because("line %d: %s", parse.Line, parse.Err)
			}
			return nil, ErrSpreadsheet.Wrap(err)
		}
		line, _ := in.FieldPos(0)
		number := line - extraLines
		if first {
			t.header(cells)
			if len(t.bad.list) > 0 {
				break
			}
			continue
		}
		for i, cell := range cells {
			extraLines += strings.Count(cell, "\n")
			if !utf8.ValidString(cell) {
				t.bad.add(fmt.Sprintf("row %d, column %s", number, letters(i)), "is not UTF-8; save the file as \"CSV UTF-8\"")
				return t.result()
			}
			if i < len(t.heads) && t.heads[i] >= 0 && columns[t.heads[i]].text {
				cells[i] = formula.Rearm(cell)
			}
		}
		more, err := t.row(number, cells)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	return t.result()
}

// separator returns the separator that the heading uses, where neither can be part of a name.
func separator(data []byte) rune {
	head, _, _ := bytes.Cut(data, []byte("\n"))
	if bytes.ContainsRune(head, ';') && !bytes.ContainsRune(head, ',') {
		return ';'
	}
	return ','
}

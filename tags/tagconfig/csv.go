package tagconfig

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
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
				row[i] = disarm(row[i])
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
				cells[i] = rearm(cell)
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

const (
	splits   = ",;\t\n\"" // where a program of some locale may begin a new cell
	formulas = "=+-@\t\r\n＝＋－＠"
)

// disarm puts an apostrophe in front of what a spreadsheet program would take for a formula, at the
// start of a text and after every separator. Where apostrophes are there already one more is added,
// so that rearm returns the text.
func disarm(s string) string {
	return walkCells(s, func(quotes int, formula bool) int {
		if formula {
			return quotes + 1
		}
		return quotes
	})
}

// rearm undoes disarm.
func rearm(s string) string {
	return walkCells(s, func(quotes int, formula bool) int {
		if formula && quotes > 0 {
			return quotes - 1
		}
		return quotes
	})
}

// walkCells copies s. At each place where a cell may begin, keep decides from the number of
// apostrophes there, and whether a formula follows them, how many stay.
func walkCells(s string, keep func(quotes int, formula bool) int) string {
	if !strings.ContainsAny(s, formulas) {
		return s
	}
	var b strings.Builder
	for {
		rest := strings.TrimLeft(s, "'")
		r, _ := utf8.DecodeRuneInString(rest)
		quotes := len(s) - len(rest)
		formula := rest != "" && strings.ContainsRune(formulas, r)
		b.WriteString(strings.Repeat("'", keep(quotes, formula)))
		next := strings.IndexAny(rest, splits)
		if next < 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(rest[:next+1])
		s = rest[next+1:]
	}
}

package tagconfig

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/internal/formula"
	"github.com/otkit/otkit/internal/xlsx"
)

func exportCSV(w io.Writer, items iter.Seq[Config]) error {
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
	for c := range items {
		for i := range columns {
			row[i] = formatCell(columns[i].get(&c))
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

func (t *table) importCSV(r io.Reader) error {
	buffered := withoutMark(r)
	in := csv.NewReader(buffered)
	in.Comma = separator(buffered)
	in.FieldsPerRecord = -1
	in.ReuseRecord = true
	extraLines := 0 // of cells with line breaks: a spreadsheet counts rows, not lines
	for first := true; ; first = false {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			var parse *csv.ParseError
			if errors.As(err, &parse) {
				return ErrSpreadsheet.Because("line %d: %s", parse.Line, parse.Err)
			}
			return notRead(err)
		}
		line, _ := in.FieldPos(0)
		number := line - extraLines
		if first {
			if err := t.header(number, cells); err != nil {
				return err
			}
			continue
		}
		for i, cell := range cells {
			extraLines += strings.Count(cell, "\n")
			if !utf8.ValidString(cell) {
				t.bad.add(fmt.Sprintf("row %d, column %s", number, xlsx.Letters(i)), "is not UTF-8; save the file as \"CSV UTF-8\"")
				return errFull
			}
			if i < len(t.heads) && t.heads[i] >= 0 && columns[t.heads[i]].text {
				cells[i] = formula.Rearm(cell)
			}
		}
		if err := t.row(number, cells); err != nil {
			return err
		}
	}
}

// separator returns the separator that the heading uses, where neither can be part of a name.
func separator(in *bufio.Reader) rune {
	start, _ := in.Peek(in.Size()) // an error comes again when it is read
	head, _, _ := bytes.Cut(start, []byte("\n"))
	if bytes.ContainsRune(head, ';') && !bytes.ContainsRune(head, ',') {
		return ';'
	}
	return ','
}

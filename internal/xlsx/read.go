package xlsx

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
)

// Errors of [Read].
var (
	ErrFormat   = errors.New("xlsx: not a workbook")
	ErrDamaged  = errors.New("xlsx: the workbook is damaged")
	ErrTooLarge = errors.New("xlsx: the workbook unpacks to too much")
)

// Limits bounds what [Read] accepts. All are required.
type Limits struct {
	Columns int   // cells of a row beyond which the rest is dropped; the row then has one more than that
	Bytes   int64 // of the parts that are read, unpacked
	Strings int   // bytes of the texts that cells share, which are in memory
	Text    int   // bytes of the cells of all rows: of a text that cells share, each has it
}

const maxParts = 1000

// Read calls row for each row of the first sheet that has cells, with its number, from 1, and its cells, "" where there is
// none. Cells have their values, not what is displayed: numbers in shortest form, true and false, the results of formulas
// as the program that saved the file computed them. The slice is reused, the strings are not. An error of row is returned as it is.
//
// If r is not a workbook, Read returns [ErrFormat]; if it is not as the standard has it, or cut off, [ErrDamaged]; if it exceeds
// a limit, [ErrTooLarge]. Rows may have been returned by then.
func Read(r io.ReaderAt, size int64, limits Limits, row func(number int, cells []string) error) error {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(archive.File) > maxParts {
		return fmt.Errorf("%w: more than %d parts", ErrTooLarge, maxParts)
	}
	b := &book{parts: make(map[string]*zip.File, len(archive.File)), limits: limits, left: limits.Bytes, shared: shared{limit: limits.Strings}}
	for _, f := range archive.File {
		b.parts[partName(f.Name)] = f
	}
	sheet, texts, err := b.find()
	if err == nil && texts != "" {
		err = b.read(texts, b.shared.read)
	}
	if err != nil {
		return err
	}
	s := &sheetReader{limits: limits, shared: &b.shared, row: row}
	return b.read(sheet, s.readRows)
}

// partName returns the form of a name by which parts are found: names differ in more than case.
func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// book is a workbook that is read.
type book struct {
	parts  map[string]*zip.File
	limits Limits
	left   int64 // bytes that may still be unpacked
	shared shared
}

// rowError is an error of the caller's function.
type rowError struct{ error }

// read parses a part to its end, where its checksum is compared.
func (b *book) read(name string, parse func(*markup) error) error {
	f := b.parts[name]
	if f == nil {
		return fmt.Errorf("%w: the part %q is missing", ErrFormat, name)
	}
	part, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { _ = part.Close() }()
	m := newMarkup(&metered{part, b})
	err = parse(m)
	for err == nil { // behind the root
		_, err = m.next()
	}
	var own rowError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &own):
		return own.error
	case errors.Is(err, ErrTooLarge):
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
}

// metered counts what is unpacked.
type metered struct {
	r io.Reader
	b *book
}

// Read implements io.Reader.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.b.left -= int64(n); m.b.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// find returns the names of the first sheet and of the part with the shared texts, "" if there is none.
func (b *book) find() (sheet, texts string, err error) {
	book := "xl/workbook.xml"
	err = b.relations("", func(_, kind, target string) {
		if kind == "officeDocument" {
			book = target
		}
	})
	if err != nil {
		return "", "", err
	}
	first := ""
	err = b.read(book, func(m *markup) error {
		return each(m, "sheet", func() {
			if first == "" {
				first = string(m.attr("id")) // r:id; the other one is sheetId
			}
		})
	})
	if err != nil {
		return "", "", err
	}
	err = b.relations(book, func(id, kind, target string) {
		switch {
		case id == first:
			sheet = target
		case kind == "sharedStrings":
			texts = target
		}
	})
	if err == nil && sheet == "" {
		err = fmt.Errorf("%w: it has no sheet", ErrFormat)
	}
	return sheet, texts, err
}

// relations calls found for each relation of a part, or of the package.
func (b *book) relations(of string, found func(id, kind, target string)) error {
	dir, file := path.Split(of)
	return b.read(dir+"_rels/"+file+".rels", func(m *markup) error {
		return each(m, "Relationship", func() {
			target := strings.ReplaceAll(string(m.attr("Target")), `\`, "/")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			found(string(m.attr("Id")), path.Base(string(m.attr("Type"))), partName(target))
		})
	})
}

// each calls found at each start of an element.
func each(m *markup, name string, found func()) error {
	for {
		k, err := m.next()
		if err != nil {
			return err
		}
		if k == startTag && string(m.name) == name {
			found()
		}
	}
}

// shared has the texts that cells share.
type shared struct {
	limit int
	all   []byte
	ends  []uint32
}

func (s *shared) at(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.all[from:s.ends[i]]
}

// read reads the part of shared texts.
func (s *shared) read(m *markup) error {
	for {
		k, err := m.next()
		if err != nil {
			return err
		}
		if k != startTag || string(m.name) != "si" {
			continue
		}
		if s.all, err = appendRich(s.all, m, s.limit); err != nil {
			return err
		}
		s.ends = append(s.ends, uint32(len(s.all)))
		if len(s.all)+4*len(s.ends) > s.limit {
			return fmt.Errorf("%w: more than %d bytes of texts", ErrTooLarge, s.limit)
		}
	}
}

// appendRich appends the text of the element that has just begun: that of its t, also of those in runs, but not of
// phonetic hints. dst may have most bytes.
func appendRich(dst []byte, m *markup, most int) ([]byte, error) {
	for depth := len(m.starts); len(m.starts) >= depth; {
		k, err := m.next()
		if err != nil {
			return dst, err
		}
		if k != startTag {
			continue
		}
		switch string(m.name) {
		case "rPh":
			err = m.skip()
		case "t":
			dst, err = appendText(dst, m, most)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendText appends the text of the element that has just begun. dst may have most bytes.
func appendText(dst []byte, m *markup, most int) ([]byte, error) {
	from := len(dst)
	for depth := len(m.starts); len(m.starts) >= depth; {
		k, err := m.next()
		if err != nil {
			return dst, err
		}
		if k == text {
			dst = append(dst, m.text...)
		}
		if len(dst) > most {
			return dst, fmt.Errorf("%w: more than %d bytes of texts", ErrTooLarge, most)
		}
	}
	if bytes.Contains(dst[from:], []byte("_x")) {
		dst = appendUnescaped(dst[:from], bytes.Clone(dst[from:]))
	}
	return dst, nil
}

// sheetReader reads the rows of a sheet.
type sheetReader struct {
	limits Limits
	shared *shared
	row    func(number int, cells []string) error

	number int
	read   int      // bytes of text of the rows before
	text   []byte   // of the row
	spans  [][2]int // of each cell in text
	cells  []string
}

func (s *sheetReader) readRows(m *markup) error {
	for {
		k, err := m.next()
		if err != nil {
			return err
		}
		if k == startTag && string(m.name) == "row" {
			if err := s.readRow(m); err != nil {
				return err
			}
		}
	}
}

func (s *sheetReader) readRow(m *markup) error {
	number := s.number + 1
	if r := m.attr("r"); r != nil {
		n, err := strconv.Atoi(string(r))
		if err != nil || n < number {
			return fmt.Errorf("%w: row %q", errMarkup, r)
		}
		number = n
	}
	s.number = number
	s.text, s.spans = s.text[:0], s.spans[:0]
	column := 0
	for depth := len(m.starts); len(m.starts) >= depth; {
		k, err := m.next()
		if err != nil {
			return err
		}
		if k != startTag || string(m.name) != "c" {
			continue
		}
		if r := m.attr("r"); r != nil {
			if column = columnOf(r); column < 0 {
				return fmt.Errorf("%w: cell %q", errMarkup, r)
			}
		}
		if err := s.readCell(m, min(column, s.limits.Columns)); err != nil {
			return err
		}
		if len(s.text) > s.room() {
			return fmt.Errorf("%w: more than %d bytes in the cells up to row %d", ErrTooLarge, s.room(), s.number)
		}
		column++
	}
	if len(s.spans) == 0 {
		return nil
	}
	s.read += len(s.text)
	all := string(s.text) // one allocation for all cells
	s.cells = s.cells[:0]
	for _, span := range s.spans {
		s.cells = append(s.cells, all[span[0]:span[1]])
	}
	if err := s.row(number, s.cells); err != nil {
		return rowError{err}
	}
	return nil
}

// maxRow bounds the text of a row, in bytes.
const maxRow = 4 << 20

// room returns how much text the row may have.
func (s *sheetReader) room() int { return min(maxRow, s.limits.Text-s.read) }

// columnOf returns the column of a reference such as AB12, from 0; -1 for what is none.
func columnOf(ref []byte) int {
	n := 0
	for i, c := range ref {
		switch {
		case c >= 'A' && c <= 'Z' && i < 3:
			n = n*26 + int(c-'A') + 1
		case c >= '0' && c <= '9':
			return n - 1
		default:
			return -1
		}
	}
	return -1
}

func (s *sheetReader) readCell(m *markup, column int) (err error) {
	kind := string(m.attr("t"))
	from := len(s.text)
	for depth := len(m.starts); len(m.starts) >= depth; {
		k, err := m.next()
		if err != nil {
			return err
		}
		if k != startTag {
			continue
		}
		switch string(m.name) {
		case "v":
			s.text, err = appendText(s.text[:from], m, s.room())
			if err == nil {
				err = s.finish(kind, from)
			}
		case "is":
			s.text, err = appendRich(s.text[:from], m, s.room())
		}
		if err != nil {
			return err
		}
	}
	if len(s.text) == from {
		return nil
	}
	for len(s.spans) <= column {
		s.spans = append(s.spans, [2]int{})
	}
	s.spans[column] = [2]int{from, len(s.text)}
	return nil
}

// finish turns the content of the element v into the value of the cell.
func (s *sheetReader) finish(kind string, from int) error {
	v := s.text[from:]
	switch kind {
	case "s":
		i, err := strconv.Atoi(string(bytes.TrimSpace(v)))
		if err != nil || i < 0 || i >= len(s.shared.ends) {
			return fmt.Errorf("%w: there is no shared text %q", errMarkup, v)
		}
		s.text = append(s.text[:from], s.shared.at(i)...)
	case "b":
		word := "false"
		if string(v) == "1" {
			word = "true"
		}
		s.text = append(s.text[:from], word...)
	case "", "n":
		s.text = append(s.text[:from], shortest(v)...)
	}
	return nil
}

// shortest returns a number in its shortest form where it has more digits than programs display: they write 0.1 as
// 0.10000000000000001.
func shortest(v []byte) []byte {
	if len(v) <= 15 {
		return v
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return v
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(nil, f, format, -1, 64)
}

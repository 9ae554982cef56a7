package tagconfig

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// exportJSON writes an array with one item a line.
func exportJSON(w io.Writer, items iter.Seq[Config]) error {
	buf := []byte("[")
	separator := "\n  "
	for c := range items {
		var err error
		if buf, err = c.AppendJSON(append(buf, separator...)); err != nil {
			return err
		}
		separator = ",\n  "
		if len(buf) >= 32<<10 {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	if separator[0] == ',' {
		buf = append(buf, '\n')
	}
	_, err := w.Write(append(buf, "]\n"...))
	return err
}

// importJSON reads an array of items or a model file.
func (t *table) importJSON(r *bounded) error {
	in := &jsonReader{lines: lines{starts: []int64{0}}}
	in.dec = json.NewDecoder(io.TeeReader(withoutMark(r), &in.lines))
	err := t.readJSON(in)
	switch {
	case r.err != nil:
		return notRead(r.err)
	case errors.Is(err, errSyntax):
		return ErrNotJSON.Because("%s", in.place(err))
	}
	return err
}

// errSyntax marks the errors that the decoder has returned.
var errSyntax = errors.New("syntax")

type jsonReader struct {
	dec   *json.Decoder
	lines lines
	text  string // of a syntax error that is an offset only
}

func (j *jsonReader) token() (json.Token, error) {
	token, err := j.dec.Token()
	if err != nil {
		err = errors.Join(errSyntax, err)
	}
	return token, err
}

func (j *jsonReader) value() (raw json.RawMessage, err error) {
	err = j.dec.Decode(&raw)
	if err == nil {
		return raw, nil
	}
	// The decoder counts its offset without what it has read as tokens.
	var syntax *json.SyntaxError
	if rest, _ := io.ReadAll(j.dec.Buffered()); errors.As(json.Unmarshal(rest, &raw), &syntax) && syntax.Error() == err.Error() {
		err = &json.SyntaxError{Offset: j.dec.InputOffset() + syntax.Offset}
		j.text = syntax.Error()
	}
	return nil, errors.Join(errSyntax, err)
}

func (t *table) readJSON(in *jsonReader) error {
	open, err := in.token()
	if err != nil {
		return err
	}
	found := open == json.Delim('[')
	switch open {
	case json.Delim('['):
		err = t.readItems(in)
	case json.Delim('{'):
		found, err = t.readModel(in)
	}
	if err != nil {
		return err
	}
	if _, err := in.dec.Token(); !errors.Is(err, io.EOF) {
		return ErrNotJSON.Because("there is more behind the end")
	}
	if !found {
		return ErrSpreadsheet.Because("must be an array of tags or a model file")
	}
	return nil
}

// readModel reads a model file behind its first character and reports whether it has items.
func (t *table) readModel(in *jsonReader) (found bool, err error) {
	for in.dec.More() {
		name, err := in.token()
		if err != nil {
			return false, err
		}
		if text, _ := name.(string); !strings.EqualFold(text, "variables") {
			if _, err := in.value(); err != nil {
				return false, err
			}
			continue
		}
		if open, err := in.token(); err != nil || open != json.Delim('[') {
			return false, errors.Join(err, ErrSpreadsheet.Because("variables must be an array"))
		}
		found = true
		t.items = t.items[:0] // of two, the last counts
		if err := t.readItems(in); err != nil {
			return false, err
		}
	}
	_, err = in.token()
	return found, err
}

// readItems reads an array behind its first character.
func (t *table) readItems(in *jsonReader) error {
	common := words{}
	for i := 0; in.dec.More(); i++ {
		raw, err := in.value()
		if err != nil {
			return err
		}
		c, err := t.next()
		if err != nil {
			return err
		}
		add := func(member, format string, args ...any) { t.bad.add(indexPlace(i, member), format, args...) }
		if c.decodeFast(raw, common) || t.decodeOdd(i, raw, c, add) {
			c.normalize()
			c.validate(add)
		}
		if err := t.full(); err != nil {
			return err
		}
	}
	_, err := in.token()
	return err
}

// decodeOdd reads an item that is not in the usual form, and reports whether that worked.
func (t *table) decodeOdd(i int, raw []byte, c *Config, add func(member, format string, args ...any)) bool {
	*c = Config{}
	if !utf8.Valid(raw) {
		t.bad.add(fmt.Sprintf("[%d]", i), "is not UTF-8")
		return false
	}
	if !decodeItem(raw, c, add) {
		return false
	}
	if t.limits.Odd != nil {
		t.limits.Odd(raw, c)
	}
	return true
}

// lines remembers where the last lines of a text begin.
type lines struct {
	starts  []int64 // the newest lines
	dropped int     // lines before them
	size    int64
}

const keptLines = 8192

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	for at := 0; ; {
		next := bytes.IndexByte(p[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
		l.starts = append(l.starts, l.size+int64(at))
	}
	l.size += int64(len(p))
	// The decoder reads no more than a few times its largest item ahead.
	if extra := len(l.starts) - keptLines; extra > keptLines {
		l.starts = slices.Delete(l.starts, 0, extra)
		l.dropped += extra
	}
	return len(p), nil
}

// place turns an error of the decoder into "line 3, character 7: ...".
func (j *jsonReader) place(err error) string {
	if j.lines.size == 0 {
		return "the file is empty"
	}
	offset, text := j.lines.size, "unexpected end of JSON input"
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset, text = max(syntax.Offset-1, 0), cmp.Or(j.text, syntax.Error())
	}
	at, known := slices.BinarySearch(j.lines.starts, offset)
	if !known {
		at--
	}
	if at < 0 {
		return fmt.Sprintf("byte %d: %s", offset, text)
	}
	return fmt.Sprintf("line %d, character %d: %s", j.lines.dropped+at+1, offset-j.lines.starts[at]+1, text)
}

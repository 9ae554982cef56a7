package xlsx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind int

const (
	startTag kind = iota
	endTag
	text
)

const (
	maxToken = 1 << 20 // bytes of one tag or text; a cell has at most 32,767 characters
	maxDepth = 64
)

var errMarkup = errors.New("not well-formed XML")

// markup splits the XML of a part into tags and texts. It knows what workbooks use: UTF-8, no document type. Package
// encoding/xml takes ten times as long.
type markup struct {
	r        io.Reader
	buf      []byte
	pos, end int
	readErr  error

	open    []byte // names of the open elements
	starts  []int  // where each begins in open
	pending bool   // the end of an element without content is to be returned

	// The current token. They are valid until the next one.
	name  []byte // of a tag, without prefix
	attrs []byte
	text  []byte // with references resolved
	room  []byte
}

func newMarkup(r io.Reader) *markup {
	m := &markup{r: r, buf: make([]byte, 64<<10)}
	if m.has("\xef\xbb\xbf") {
		m.pos += 3
	}
	return m
}

// fill reads more and reports whether there was more. What begins at pos stays.
func (m *markup) fill() bool {
	if m.readErr != nil {
		return false
	}
	if m.pos > 0 {
		m.end = copy(m.buf, m.buf[m.pos:m.end])
		m.pos = 0
	}
	if m.end == len(m.buf) {
		if len(m.buf) >= maxToken {
			m.readErr = fmt.Errorf("%w: a text of more than %d bytes", errMarkup, maxToken)
			return false
		}
		m.buf = append(m.buf, make([]byte, len(m.buf))...)
	}
	for range 100 {
		n, err := m.r.Read(m.buf[m.end:])
		m.end += n
		m.readErr = err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	m.readErr = io.ErrNoProgress
	return false
}

func (m *markup) has(prefix string) bool {
	for m.end-m.pos < len(prefix) {
		if !m.fill() {
			return false
		}
	}
	return string(m.buf[m.pos:m.pos+len(prefix)]) == prefix
}

// until returns what comes before the delimiter and moves behind it.
func (m *markup) until(delimiter string) ([]byte, error) {
	for seen := 0; ; {
		if at := bytes.Index(m.buf[m.pos+seen:m.end], []byte(delimiter)); at >= 0 {
			part := m.buf[m.pos : m.pos+seen+at]
			m.pos += seen + at + len(delimiter)
			return part, nil
		}
		seen = max(0, m.end-m.pos-len(delimiter)+1)
		if !m.fill() {
			return nil, m.cutOff()
		}
	}
}

func (m *markup) cutOff() error {
	if errors.Is(m.readErr, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return m.readErr
}

// next returns the next token, and io.EOF at the end of the document.
func (m *markup) next() (kind, error) {
	if m.pending {
		m.pending = false
		return endTag, m.leave(m.name)
	}
	for {
		if m.pos == m.end && !m.fill() {
			if errors.Is(m.readErr, io.EOF) && len(m.starts) > 0 {
				return 0, io.ErrUnexpectedEOF
			}
			return 0, m.readErr
		}
		if m.buf[m.pos] != '<' {
			return text, m.plain()
		}
		m.pos++
		switch {
		case m.has("!--"):
			if _, err := m.until("-->"); err != nil {
				return 0, err
			}
		case m.has("?"):
			if _, err := m.until("?>"); err != nil {
				return 0, err
			}
		case m.has("![CDATA["):
			m.pos += len("![CDATA[")
			part, err := m.until("]]>")
			m.text = part
			return text, err
		case m.has("!"):
			return 0, fmt.Errorf("%w: a document type", errMarkup)
		case m.has("/"):
			m.pos++
			part, err := m.until(">")
			if err != nil {
				return 0, err
			}
			return endTag, m.leave(local(bytes.TrimRight(part, " \t\r\n")))
		default:
			return startTag, m.start()
		}
	}
}

// plain reads a text up to the next tag.
func (m *markup) plain() error {
	for seen := 0; ; {
		at := bytes.IndexByte(m.buf[m.pos+seen:m.end], '<')
		if at < 0 {
			seen = m.end - m.pos
			if m.fill() {
				continue
			}
			if !errors.Is(m.readErr, io.EOF) {
				return m.readErr
			}
			at = 0
		}
		part := m.buf[m.pos : m.pos+seen+at]
		m.pos += seen + at
		var err error
		m.text, err = m.resolve(part)
		return err
	}
}

// start reads a start tag behind its <.
func (m *markup) start() error {
	quote := byte(0)
	for at := m.pos; ; at++ {
		if at == m.end {
			behind := at - m.pos
			if !m.fill() {
				return m.cutOff()
			}
			at = m.pos + behind
		}
		switch c := m.buf[at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '<':
			return errMarkup
		case c == '>':
			tag := m.buf[m.pos:at]
			m.pos = at + 1
			return m.enter(tag)
		}
	}
}

func (m *markup) enter(tag []byte) error {
	if n := len(tag); n > 0 && tag[n-1] == '/' {
		m.pending = true
		tag = tag[:n-1]
	}
	name := tag
	m.attrs = nil
	if at := bytes.IndexAny(tag, " \t\r\n"); at >= 0 {
		name, m.attrs = tag[:at], tag[at:]
	}
	m.name = local(name)
	if len(m.name) == 0 || len(m.starts) == maxDepth {
		return errMarkup
	}
	m.starts = append(m.starts, len(m.open))
	m.open = append(m.open, m.name...)
	return nil
}

func (m *markup) leave(name []byte) error {
	last := len(m.starts) - 1
	if last < 0 || !bytes.Equal(name, m.open[m.starts[last]:]) {
		return errMarkup
	}
	m.name = name
	m.open, m.starts = m.open[:m.starts[last]], m.starts[:last]
	return nil
}

// skip moves behind the end of the element that has just begun.
func (m *markup) skip() error {
	for depth := len(m.starts); len(m.starts) >= depth; {
		if _, err := m.next(); err != nil {
			return err
		}
	}
	return nil
}

// local returns a name without its prefix.
func local(name []byte) []byte { return name[bytes.IndexByte(name, ':')+1:] }

// attr returns the value of an attribute by its name without prefix; nil if there is none.
func (m *markup) attr(name string) []byte {
	rest := m.attrs
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		key, after, ok := bytes.Cut(rest, []byte("="))
		if !ok {
			return nil
		}
		after = bytes.TrimLeft(after, " \t\r\n")
		if len(after) == 0 || after[0] != '"' && after[0] != '\'' {
			return nil
		}
		length := bytes.IndexByte(after[1:], after[0])
		if length < 0 {
			return nil
		}
		if string(local(bytes.TrimRight(key, " \t\r\n"))) == name {
			return after[1 : 1+length]
		}
		rest = after[length+2:]
	}
}

// resolve replaces references by what they stand for, and line ends by \n.
func (m *markup) resolve(raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '&') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw, nil
	}
	out := m.room[:0]
	for {
		at := bytes.IndexAny(raw, "&\r")
		if at < 0 {
			m.room = append(out, raw...)
			return m.room, nil
		}
		out = append(out, raw[:at]...)
		if raw[at] == '\r' {
			out, raw = append(out, '\n'), bytes.TrimPrefix(raw[at+1:], []byte("\n"))
			continue
		}
		name, rest, ok := bytes.Cut(raw[at+1:], []byte(";"))
		r, known := reference(string(name))
		if !ok || !known {
			return nil, fmt.Errorf("%w: an unknown reference", errMarkup)
		}
		out, raw = utf8.AppendRune(out, r), rest
	}
}

func reference(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex, is := strings.CutPrefix(digits, "x"); is {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return rune(n), ok && err == nil && n <= utf8.MaxRune && utf8.ValidRune(rune(n)) && n != 0
}

package aas

import (
	"encoding/base64"
	"unicode/utf8"
)

// encoder appends JSON.
type encoder struct {
	buf  []byte
	view View
	// metadata has what is part of a value omitted.
	metadata bool
	// held has the values that properties get in place of their own.
	held map[*Property]*string
}

// item puts a comma before all entries but the first.
func (e *encoder) item() {
	if last := e.buf[len(e.buf)-1]; last != '[' && last != '{' {
		e.buf = append(e.buf, ',')
	}
}

// name begins a member; names of the metamodel need no escaping.
func (e *encoder) name(m member) {
	e.item()
	e.buf = append(e.buf, memberTexts[m]...)
}

// memberTexts are the names of members as JSON begins them.
var memberTexts = func() (texts [endOfMembers]string) {
	for m, name := range memberNames {
		texts[m] = `"` + name + `":`
	}
	return texts
}()

func (e *encoder) open()  { e.buf = append(e.buf, '{') }
func (e *encoder) close() { e.buf = append(e.buf, '}') }

// text appends a member that may be absent.
func (e *encoder) text(m member, text string) {
	if text != "" {
		e.must(m, text)
	}
}

// must appends a member that is always there.
func (e *encoder) must(m member, text string) {
	e.name(m)
	e.buf = appendString(e.buf, text)
}

func (e *encoder) pointer(m member, text *string) {
	if text != nil {
		e.must(m, *text)
	}
}

func (e *encoder) boolean(m member, b bool) {
	e.name(m)
	if b {
		e.buf = append(e.buf, "true"...)
	} else {
		e.buf = append(e.buf, "false"...)
	}
}

func (e *encoder) bytes(m member, data []byte) {
	e.name(m)
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, data)
	e.buf = append(e.buf, '"')
}

// array appends an array that is omitted when it is empty.
func array[T any](e *encoder, m member, list []T, write func(*encoder, *T)) {
	if len(list) == 0 {
		return
	}
	e.name(m)
	e.buf = append(e.buf, '[')
	for i := range list {
		e.item()
		write(e, &list[i])
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) str(text *string) { e.buf = appendString(e.buf, *text) }

// empty appends an empty array.
func (e *encoder) empty(m member) {
	e.name(m)
	e.buf = append(e.buf, "[]"...)
}

// plain are the bytes that stand for themselves in a JSON string.
var plain = func() (is [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// appendString appends a JSON string, with only those characters escaped that have to be.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		dst = appendEscape(append(dst, s[start:i]...), c)
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
}

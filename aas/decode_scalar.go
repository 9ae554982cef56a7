package aas

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// str reads a string.
func (d *decoder) str() string {
	if d.err != nil {
		return ""
	}
	if d.peek() != '"' {
		d.fail("must be a string")
		return ""
	}
	start := d.pos + 1
	for i := start; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '"':
			d.pos = i + 1
			return d.text[start:i]
		case c == '\\':
			return d.unescape(start, i)
		case c < 0x20:
			d.pos = i
			d.malformed()
			return ""
		}
	}
	d.pos = len(d.text)
	d.malformed()
	return ""
}

// unescape reads on in a string that begins at start and has its first escape at i.
func (d *decoder) unescape(start, i int) string {
	out := append(make([]byte, 0, i-start+32), d.text[start:i]...)
	for i < len(d.text) {
		c := d.text[i]
		switch {
		case c == '"':
			d.pos = i + 1
			return string(out)
		case c < 0x20:
			i = len(d.text)
		case c != '\\':
			out = append(out, c)
			i++
		default:
			r, size := escape(d.text[i:])
			if size == 0 {
				d.pos = i
				d.malformed()
				return ""
			}
			out = utf8.AppendRune(out, r)
			i += size
		}
	}
	d.pos = i
	d.malformed()
	return ""
}

// escape reads the escape at the start of text; its size is 0 when it is none. Half of a surrogate pair
// is none, since no UTF-8 can hold it.
func escape(text string) (rune, int) {
	if len(text) < 2 {
		return 0, 0
	}
	if text[1] != 'u' {
		at := strings.IndexByte(`"\/bfnrt`, text[1])
		if at < 0 {
			return 0, 0
		}
		return rune("\"\\/\b\f\n\r\t"[at]), 2
	}
	r, ok := hex4(text[2:])
	switch {
	case !ok || r >= 0xDC00 && r < 0xE000:
		return 0, 0
	case r < 0xD800 || r >= 0xE000:
		return r, 6
	case !strings.HasPrefix(text[6:], `\u`):
		return 0, 0
	}
	low, ok := hex4(text[8:])
	if !ok || low < 0xDC00 || low >= 0xE000 {
		return 0, 0
	}
	return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), 12
}

func hex4(text string) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range []byte(text[:4]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// strPointer reads a string whose presence counts.
func (d *decoder) strPointer() *string {
	p := d.strings.one()
	*p = d.str()
	return p
}

func (d *decoder) boolean() bool {
	d.peek()
	switch rest := d.text[d.pos:]; {
	case strings.HasPrefix(rest, "true"):
		d.pos += 4
		return true
	case strings.HasPrefix(rest, "false"):
		d.pos += 5
	default:
		d.fail("must be true or false")
	}
	return false
}

func (d *decoder) bytes() []byte {
	text := d.str()
	if d.err != nil {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		d.fail("must be Base64")
	}
	return data
}

// word reads a string of an enumeration.
func word[T ~string](d *decoder, known map[T]struct{}) T {
	w := T(d.str())
	if _, ok := known[w]; !ok && d.err == nil {
		d.fail("is not one of the allowed values")
	}
	return w
}

// number reads a number as it is written.
func (d *decoder) number() string {
	d.peek()
	start := d.pos
	if d.pos < len(d.text) && d.text[d.pos] == '-' {
		d.pos++
	}
	whole := d.pos
	if d.digits() == 0 || d.pos-whole > 1 && d.text[whole] == '0' {
		d.malformed()
	}
	if d.pos < len(d.text) && d.text[d.pos] == '.' {
		d.pos++
		if d.digits() == 0 {
			d.malformed()
		}
	}
	if d.pos < len(d.text) && d.text[d.pos]|0x20 == 'e' {
		d.pos++
		if d.pos < len(d.text) && (d.text[d.pos] == '+' || d.text[d.pos] == '-') {
			d.pos++
		}
		if d.digits() == 0 {
			d.malformed()
		}
	}
	return d.text[start:d.pos]
}

func (d *decoder) digits() int {
	start := d.pos
	for d.pos < len(d.text) && d.text[d.pos] >= '0' && d.text[d.pos] <= '9' {
		d.pos++
	}
	return d.pos - start
}

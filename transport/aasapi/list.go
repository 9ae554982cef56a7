package aasapi

import "strconv"

// list is a page while it is written: {"paging_metadata":{"cursor":...},"result":[...]}.
type list struct {
	buf  []byte
	some bool
	last byte
}

func newList(size int, cursor string) *list { return begin(size, cursor, '[', ']') }

// newObject begins a page whose result is an object, as that of elements in the value form is.
func newObject(size int, cursor string) *list { return begin(size, cursor, '{', '}') }

func begin(size int, cursor string, first, last byte) *list {
	l := &list{buf: make([]byte, 0, size+len(cursor)), last: last}
	l.buf = append(l.buf, `{"paging_metadata":{`...)
	if cursor != "" {
		l.buf = append(l.buf, `"cursor":"`...)
		l.buf = append(l.buf, cursor...) // base64url needs no escaping
		l.buf = append(l.buf, '"')
	}
	l.buf = append(l.buf, `},"result":`...)
	l.buf = append(l.buf, first)
	return l
}

// separate goes before every entry.
func (l *list) separate() {
	if l.some {
		l.buf = append(l.buf, ',')
	}
	l.some = true
}

func (l *list) end() []byte { return append(l.buf, l.last, '}') }

// appendText appends a JSON string of text without control characters beyond ASCII rules: a path, an
// id or an idShort.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b == '"' || b == '\\' {
			return appendEscaped(dst, text)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := range len(text) {
		switch b := text[i]; {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b < ' ':
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15])
		default:
			dst = append(dst, b)
		}
	}
	return append(dst, '"')
}

func appendStrings(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, text)
	}
	return append(dst, ']')
}

// place returns the name of an entry that has none but its number.
func place(i int) string { return strconv.Itoa(i) }

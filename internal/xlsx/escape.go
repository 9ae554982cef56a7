package xlsx

import (
	"strconv"
	"unicode/utf8"
)

// escapeLength is the length of an escape of ECMA-376, ST_Xstring: _xHHHH_ is the character with that number.
const escapeLength = len("_x0000_")

// escapeAt returns the character of an escape at the beginning of s.
func escapeAt[S ~string | ~[]byte](s S) (rune, bool) {
	if len(s) < escapeLength || s[0] != '_' || s[1] != 'x' || s[escapeLength-1] != '_' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

// appendUnescaped appends a text of a workbook without its escapes.
func appendUnescaped(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] == '_' {
			if r, ok := escapeAt(s[i:]); ok && utf8.ValidRune(r) {
				dst = utf8.AppendRune(dst, r)
				i += escapeLength
				continue
			}
		}
		dst = append(dst, s[i])
		i++
	}
	return dst
}

// appendEscaped appends s as a text of a workbook.
func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '&':
			dst = append(dst, "&amp;"...)
		case '\r':
			dst = append(dst, "&#13;"...)
		case '_':
			if _, ok := escapeAt(s[i:]); ok {
				dst = append(dst, "_x005F"...)
			}
			dst = append(dst, '_')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

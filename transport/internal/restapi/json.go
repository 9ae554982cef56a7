package restapi

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// AppendString appends a JSON string, escaped as encoding/json does it.
func AppendString(dst []byte, s string) []byte {
	ascii := true
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			ascii = false
		case c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&':
			return appendEscaped(dst, s)
		}
	}
	// encoding/json escapes U+2028 and U+2029, whose UTF-8 begins with e2 80.
	if !ascii && (!utf8.ValidString(s) || strings.Contains(s, "\xe2\x80")) {
		return appendEscaped(dst, s)
	}
	return append(append(append(dst, '"'), s...), '"')
}

func appendEscaped(dst []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string can always be encoded
	return append(dst, text...)
}

// AppendTime appends a time in UTC.
func AppendTime(dst []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}

// AppendFloat appends a finite number as encoding/json does it.
func AppendFloat(dst []byte, f float64) []byte {
	format := byte('f')
	if abs := max(f, -f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-07 is written e-7
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// Package timestamp reads the times that clients send: RFC 3339, and its near relations that common
// generated clients write.
package timestamp

import (
	"regexp"
	"time"
)

// offset finds an offset at the end of a time: +hh:mm, +hhmm as ISO 8601's basic format has it, or one
// whose plus became a blank in a query.
var offset = regexp.MustCompile(`([Tt].*[0-9.])([ +-])([0-9]{2}):?([0-9]{2})$`)

// Normalize returns text with its offset as RFC 3339 writes it. Text that does not end in an offset is
// returned as it is.
func Normalize(text string) string {
	if last := len(text) - 1; last < 0 || text[last] < '0' || text[last] > '9' { // the usual Z, without a search
		return text
	}
	at := offset.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	sign := text[at[4]:at[5]]
	if sign == " " {
		sign = "+"
	}
	return text[:at[4]] + sign + text[at[6]:at[7]] + ":" + text[at[8]:at[9]]
}

// Parse reads a time in RFC 3339, with or without the colon in its offset.
func Parse(text string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, Normalize(text))
}

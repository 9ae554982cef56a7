// Package runes cuts text that is too long. A cut never breaks a character.
package runes

import (
	"strings"
	"unicode/utf8"
)

// Cut returns the first limit bytes of s, or fewer where they would break a character. The result does not keep s in memory.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// Shorten returns s as valid UTF-8 for a log line or an error. What is longer than limit bytes is cut and ends in "...".
func Shorten(s string, limit int) string {
	s = Valid(s)
	if len(s) <= limit {
		return s
	}
	return Cut(s, limit) + "..."
}

// Valid returns s with U+FFFD in place of each run of invalid UTF-8.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

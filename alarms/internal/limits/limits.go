// Package limits has the limits of texts that the packages of alarms share.
package limits

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxMessage is the longest message of an alarm, in characters.
const MaxMessage = 4096

// Violation returns why a text does not have least to most characters or is not valid UTF-8; "" if it is right.
func Violation(s string, least, most int) string {
	switch {
	case len(s) < least:
		return "is required"
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case utf8.RuneCountInString(s) > most:
		return fmt.Sprintf("must not be longer than %d characters", most)
	}
	return ""
}

// Clip returns s as a valid message: UTF-8 of at most MaxMessage bytes.
func Clip(s string) string { return clip(s, MaxMessage) }

// maxName is the longest name of a source of alarms.
const maxName = 512

// ClipName returns s as a valid name of a source: UTF-8 of at most 512 bytes.
func ClipName(s string) string { return clip(s, maxName) }

func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

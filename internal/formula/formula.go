// Package formula keeps spreadsheet programs from running texts of a CSV file as formulas.
package formula

import (
	"strings"
	"unicode/utf8"
)

const (
	splits   = ",;\t\n\"" // where a program of some locale may begin a new cell
	formulas = "=+-@\t\r\n＝＋－＠"
)

// Disarm puts an apostrophe in front of what a spreadsheet program would take for a formula, at the
// start of a text and after every separator. Where apostrophes are there already one more is added,
// so that Rearm returns the text.
func Disarm(s string) string {
	return walkCells(s, func(quotes int, formula bool) int {
		if formula {
			return quotes + 1
		}
		return quotes
	})
}

// Rearm undoes [Disarm].
func Rearm(s string) string {
	return walkCells(s, func(quotes int, formula bool) int {
		if formula && quotes > 0 {
			return quotes - 1
		}
		return quotes
	})
}

// walkCells copies s. At each place where a cell may begin, keep decides from the number of
// apostrophes there, and whether a formula follows them, how many stay.
func walkCells(s string, keep func(quotes int, formula bool) int) string {
	if !strings.ContainsAny(s, formulas) {
		return s
	}
	var b strings.Builder
	for {
		rest := strings.TrimLeft(s, "'")
		r, _ := utf8.DecodeRuneInString(rest)
		quotes := len(s) - len(rest)
		formula := rest != "" && strings.ContainsRune(formulas, r)
		b.WriteString(strings.Repeat("'", keep(quotes, formula)))
		next := strings.IndexAny(rest, splits)
		if next < 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(rest[:next+1])
		s = rest[next+1:]
	}
}

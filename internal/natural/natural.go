// Package natural compares names as people do.
package natural

import (
	"cmp"
	"strings"
)

// Compare compares names with digits by their number, so that tag2 comes before tag10, and the rest without regard to the
// case of ASCII letters. Names that are equal by that, such as tag1 and tag01, are compared by their characters.
func Compare(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if digit(a[i]) && digit(b[j]) {
			m, n := number(a[i:]), number(b[j:])
			i, j = i+len(m), j+len(n)
			m, n = strings.TrimLeft(m, "0"), strings.TrimLeft(n, "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
				return c
			}
			continue
		}
		if c := cmp.Compare(lower(a[i]), lower(b[j])); c != 0 {
			return c
		}
		i, j = i+1, j+1
	}
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), strings.Compare(a, b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// number returns the digits at the beginning of s.
func number(s string) string {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return s[:n]
}

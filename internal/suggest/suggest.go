// Package suggest finds what somebody may have meant who has mistyped a name.
package suggest

import "strings"

// Nearest returns the candidate with the fewest edits from a name, if these are few enough for a typing error: one for each three
// characters.
func Nearest(name string, candidates []string) (string, bool) {
	best, least := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if d := Edits(strings.ToLower(name), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best, best != ""
}

// Edits is the number of edits in bytes between names: those of Levenshtein, and swaps of neighbors (optimal string alignment).
func Edits(a, b string) int {
	const longest = 200
	if len(a) > longest || len(b) > longest {
		return longest
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

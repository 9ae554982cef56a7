// Package search has the conditions by which the lists of alarms and of alerts are narrowed.
package search

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/storage"
)

// Bounds returns a range of times as numbers, where a zero bound is none.
func Bounds(start, end time.Time) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if !start.IsZero() {
		from = storage.CeilMicros(start)
	}
	if !end.IsZero() {
		to = storage.CeilMicros(end)
	}
	return from, to
}

// Severities returns the members of a set, filled up to a list of four.
func Severities(set alarms.SeveritySet) []any {
	list := make([]any, 0, 4)
	for _, s := range alarms.Severities() {
		if set.Has(s) {
			list = append(list, int64(s))
		}
	}
	for len(list) < 4 {
		list = append(list, int64(-1))
	}
	return list
}

var like = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// EscapeLike escapes the characters that have a meaning in LIKE ... ESCAPE '\'.
func EscapeLike(text string) string { return like.Replace(text) }

// Part is a part of a text that rows are searched for.
type Part struct{ Column, Text string }

// Where adds the condition for rows with parts of texts and with labels.
func Where(where string, args []any, parts []Part, labels map[string]string) (string, []any) {
	for _, p := range parts {
		if p.Text != "" {
			where += " AND lower(" + p.Column + `) LIKE ? ESCAPE '\'`
			args = append(args, "%"+EscapeLike(storage.Text(alarms.FoldCase(p.Text)))+"%")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		// The JSON of labels is always written in the same way, and a quote within a text has a backslash before it.
		pair, err := AppendLabels(nil, map[string]string{name: labels[name]})
		if err != nil {
			return "1 = 0", nil // no label is stored that has no JSON
		}
		pair = pair[:len(pair)-1]
		where += " AND (replace(labels, ?, '') <> labels OR replace(labels, ?, '') <> labels)"
		args = append(args, string(pair), ","+string(pair[1:]))
	}
	return where, args
}

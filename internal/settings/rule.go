package settings

import (
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// rule is the rule tag of the values of a setting, or of the items of a list. The zero rule allows everything.
type rule struct {
	required bool
	text     string // such as "sqlite or postgres": what must be
	allows   func(v reflect.Value) bool
}

// namedRules are the rules for strings that have a name.
var namedRules = map[string]rule{
	"address":          {text: "host:port or :port, with a port 0 to 65535", allows: onText(isListenAddress)},
	"address or empty": {text: "host:port or :port, with a port 0 to 65535, or empty", allows: onText(func(s string) bool { return s == "" || isListenAddress(s) })},
	"token":            {text: "visible ASCII without blanks", allows: onText(isToken)},
}

func onText(allows func(string) bool) func(reflect.Value) bool {
	return func(v reflect.Value) bool { return allows(v.String()) }
}

// parseRule reads a rule tag for values of type t; doc.go describes the language.
func parseRule(text string, t reflect.Type) (rule, error) {
	named, known := namedRules[text]
	switch {
	case text == "":
		return rule{}, nil
	case text == "required":
		return rule{required: true}, nil
	case t.Kind() == reflect.String && known:
		return named, nil
	case t.Kind() == reflect.String:
		words := strings.Split(text, "|")
		if len(words) < 2 {
			return rule{}, fmt.Errorf("no rule has the name %s", text)
		}
		return rule{text: either(words), allows: func(v reflect.Value) bool { return slices.Contains(words, v.String()) }}, nil
	case t.Kind() == reflect.Bool:
		return rule{}, errors.New("true or false needs no rule")
	}
	var ranges []bounds
	var texts []string
	for part := range strings.SplitSeq(text, "|") {
		span, why, explained := strings.Cut(part, " ")
		b, err := parseBounds(span, t)
		if err != nil {
			return rule{}, err
		}
		ranges = append(ranges, b)
		if explained {
			span = " " + why
		} else {
			span = ""
		}
		texts = append(texts, b.String()+span)
	}
	return rule{text: strings.Join(texts, ", or "), allows: func(v reflect.Value) bool {
		n := number(v)
		return slices.ContainsFunc(ranges, func(b bounds) bool { return b.holds(n) })
	}}, nil
}

// either joins words as a sentence does: a, b or c.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// bounds is a range of numbers or durations.
type bounds struct {
	low, high float64
	open      bool // low itself is outside
	below     bool // high itself is outside
	duration  bool
}

// parseBounds reads 1..5, 1.., ..5, >0, >0..1, <0 or 5.
func parseBounds(text string, t reflect.Type) (bounds, error) {
	b := bounds{low: math.Inf(-1), high: math.Inf(1), duration: t == durationType}
	var err error
	set := func(to *float64, text string) {
		v, failed := singleFromText(t, text)
		if failed != nil {
			err = fmt.Errorf("the rule has the bound %q, which %w", text, failed)
			return
		}
		*to = number(v)
	}
	low, high, isRange := strings.Cut(text, "..")
	switch {
	case strings.HasPrefix(text, "<"):
		b.below = true
		set(&b.high, text[1:])
		return b, err
	case strings.HasPrefix(low, ">"):
		b.open = true
		low = low[1:]
	case !isRange:
		high = low
	}
	if low != "" {
		set(&b.low, low)
	}
	if high != "" {
		set(&b.high, high)
	}
	return b, err
}

func number(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}

func (b bounds) holds(n float64) bool {
	return (n > b.low || n == b.low && !b.open) && (n < b.high || n == b.high && !b.below)
}

// String returns the bounds in words, as they follow "must be".
func (b bounds) String() string {
	show := func(n float64) string {
		if b.duration && n != 0 {
			return durationText(time.Duration(n))
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	unlimited := math.IsInf(b.high, 1)
	switch {
	case b.below && b.high == 0:
		return "negative"
	case b.below:
		return "below " + show(b.high)
	case b.open && unlimited:
		return "above " + show(b.low)
	case b.open:
		return "above " + show(b.low) + ", up to " + show(b.high)
	case b.low == b.high:
		return show(b.low)
	case unlimited:
		return "at least " + show(b.low)
	case math.IsInf(b.low, -1):
		return "at most " + show(b.high)
	}
	return show(b.low) + " to " + show(b.high)
}

// isListenAddress accepts host:port with a host that is empty, an address or a name.
func isListenAddress(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || strings.ContainsFunc(host, func(r rune) bool { return unicode.IsSpace(r) || r == '/' }) {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port
}

// isToken reports whether a header can carry the text as a bearer token.
func isToken(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

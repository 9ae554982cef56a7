package driverconfig

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// rules are what the tags of a member of a settings struct declare. Decode checks them, and Schema describes them.
type rules struct {
	name     string
	doc      string
	unit     string
	initial  string // JSON
	example  string
	required bool
	secret   bool
	limited  bool // has lowest and highest
	lowest   float64
	highest  float64
	also     []float64 // allowed although out of range
	words    []string  // allowed strings
}

// member is a field of a settings struct.
type member struct {
	index []int
	rules
}

var known sync.Map // members by reflect.Type: they are the same for all time

// membersOf returns the members of a settings struct in the order of their fields. A tag that cannot be read panics: it is a mistake
// in the program, which the first use of the type shows.
func membersOf(t reflect.Type) []member {
	if list, ok := known.Load(t); ok {
		return list.([]member)
	}
	var list []member
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported(), name == "-", f.Anonymous && name == "":
			continue
		case name == "":
			name = f.Name
		}
		m := member{index: f.Index, rules: rules{name: name, doc: f.Tag.Get("doc"), unit: f.Tag.Get("unit"), initial: f.Tag.Get("default"),
			example: f.Tag.Get("example"), required: f.Tag.Get("required") == "true", secret: f.Tag.Get("secret") == "true"}}
		if words := f.Tag.Get("enum"); words != "" {
			m.words = strings.Split(words, ",")
		}
		if err := m.readRange(f.Tag.Get("range")); err != nil {
			panic(fmt.Sprintf("driverconfig: %s.%s: range: %v", t, f.Name, err))
		}
		list = append(list, m)
	}
	known.Store(t, list)
	return list
}

// readRange reads "1..255" or "300..4000000|0".
func (r *rules) readRange(text string) error {
	if text == "" {
		return nil
	}
	span, also, more := strings.Cut(text, "|")
	from, to, ok := strings.Cut(span, "..")
	if !ok {
		return fmt.Errorf("%q is not like 1..255", text)
	}
	var err error
	r.limited, r.lowest, r.highest = true, math.Inf(-1), math.Inf(1)
	if from != "" {
		if r.lowest, err = strconv.ParseFloat(from, 64); err != nil {
			return err
		}
	}
	if to != "" {
		if r.highest, err = strconv.ParseFloat(to, 64); err != nil {
			return err
		}
	}
	if !more {
		return nil
	}
	for _, word := range strings.Split(also, ",") {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return err
		}
		r.also = append(r.also, n)
	}
	return nil
}

// fault returns what is wrong with a value, "" if nothing. An empty word counts as absent.
func (r *rules) fault(v reflect.Value) string {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch {
	case r.limited && v.CanInt():
		return r.outside(float64(v.Int()))
	case r.limited && v.CanUint():
		return r.outside(float64(v.Uint()))
	case r.limited && v.CanFloat():
		return r.outside(v.Float())
	case len(r.words) > 0 && v.Kind() == reflect.String && v.String() != "":
		for _, word := range r.words {
			if strings.EqualFold(word, v.String()) {
				return ""
			}
		}
		return fmt.Sprintf("%.20q is not %s", v.String(), alternatives(r.words))
	}
	return ""
}

func (r *rules) outside(n float64) string {
	if n >= r.lowest && n <= r.highest {
		return ""
	}
	for _, other := range r.also {
		if n == other {
			return ""
		}
	}
	text := "must be "
	switch {
	case math.IsInf(r.highest, 1):
		text += "at least " + number(r.lowest)
	case math.IsInf(r.lowest, -1):
		text += "at most " + number(r.highest)
	default:
		text += number(r.lowest) + " to " + number(r.highest)
	}
	if r.unit != "" {
		text += " " + r.unit
	}
	for _, other := range r.also {
		text += ", or " + number(other)
	}
	return text
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// alternatives returns "A, B or C".
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

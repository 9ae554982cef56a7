package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// fromText reads the text of an environment variable or a flag as a value of the leaf's type; a
// free-form object becomes a rawText. Errors say the rule and never the value, which may be a secret.
func (s *setting) fromText(text string) (any, error) {
	switch s.kind {
	case freeForm:
		return parseObject(text)
	case list:
		items := reflect.Zero(s.typ) // an empty list is nil, as in defaults
		if strings.TrimSpace(text) == "" {
			return items.Interface(), nil
		}
		for item := range strings.SplitSeq(text, ",") {
			v, err := singleFromText(s.typ.Elem(), strings.TrimSpace(item))
			if err != nil {
				return nil, err
			}
			items = reflect.Append(items, v)
		}
		return items.Interface(), nil
	default:
		v, err := singleFromText(s.typ, text)
		if err != nil {
			return nil, err
		}
		return v.Interface(), nil
	}
}

// fromValue takes what a file or a typed flag holds, without turning one type into another.
func (s *setting) fromValue(value any) (any, error) {
	switch s.kind {
	case freeForm:
		return encodeObject(value)
	case list:
		given := reflect.ValueOf(value)
		if given.Kind() != reflect.Slice {
			return nil, fmt.Errorf("must be a list, not %s", described(value))
		}
		items := reflect.Zero(s.typ)
		for i := range given.Len() {
			v, err := singleFromValue(s.typ.Elem(), given.Index(i).Interface())
			if err != nil {
				return nil, fmt.Errorf("item %d %w", i, err)
			}
			items = reflect.Append(items, v)
		}
		return items.Interface(), nil
	default:
		v, err := singleFromValue(s.typ, value)
		if err != nil {
			return nil, err
		}
		return v.Interface(), nil
	}
}

var errRange = errors.New("is out of range")

// wanted names what a plain type takes.
func wanted(t reflect.Type) string {
	switch k := t.Kind(); {
	case t == durationType:
		return `a duration such as "30s" or "1h30m"`
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k >= reflect.Uint && k <= reflect.Uint64:
		return "a whole number from 0"
	default:
		return "a whole number"
	}
}

// described names what is there instead.
func described(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "true or false"
	case time.Time:
		return "a date: put it in quotes"
	case json.Number:
		return "a number"
	}
	switch k := reflect.TypeOf(value).Kind(); {
	case k == reflect.Map:
		return "an object"
	case k == reflect.Slice:
		return "a list"
	case k >= reflect.Int && k <= reflect.Float64:
		return "a number"
	}
	return "of another type"
}

func singleFromText(t reflect.Type, text string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	bad := errors.New("must be " + wanted(t))
	if t == durationType {
		d, err := time.ParseDuration(text)
		if err != nil {
			return v, bad
		}
		v.SetInt(int64(d))
		return v, nil
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true", "1":
			v.SetBool(true)
		case "false", "0":
		default:
			return v, bad
		}
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(text, t.Bits())
		switch {
		case errors.Is(err, strconv.ErrRange):
			return v, errRange
		case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
			return v, bad
		}
		v.SetFloat(n)
	default:
		return wholeFromText(t, text)
	}
	return v, nil
}

func wholeFromText(t reflect.Type, text string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	var err error
	if v.CanInt() {
		var n int64
		n, err = strconv.ParseInt(text, 10, t.Bits())
		v.SetInt(n)
	} else {
		var n uint64
		n, err = strconv.ParseUint(text, 10, t.Bits())
		v.SetUint(n)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return v, errRange
	case err != nil:
		return v, errors.New("must be " + wanted(t))
	}
	return v, nil
}

func singleFromValue(t reflect.Type, value any) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	bad := fmt.Errorf("must be %s, not %s", wanted(t), described(value))
	switch given := value.(type) {
	case string:
		switch {
		case t == durationType:
			return singleFromText(t, given)
		case t.Kind() == reflect.String:
			v.SetString(given)
			return v, nil
		}
	case bool:
		if t.Kind() == reflect.Bool {
			v.SetBool(given)
			return v, nil
		}
	case time.Duration:
		if t == durationType {
			v.SetInt(int64(given))
			return v, nil
		}
	default:
		return numberFromValue(t, value, bad)
	}
	return v, bad
}

// numberFromValue goes by way of the text, so that nothing is rounded or cut.
func numberFromValue(t reflect.Type, value any, bad error) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	if t.Kind() == reflect.String {
		if described(value) == "a number" {
			bad = fmt.Errorf("%w: put it in quotes", bad)
		}
		return v, bad
	}
	if t == durationType || t.Kind() == reflect.Bool || described(value) != "a number" {
		return v, bad
	}
	text := fmt.Sprint(value)
	if f, ok := value.(float64); ok {
		if !(t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64) {
			return v, errors.New("must be " + wanted(t))
		}
		text = strconv.FormatFloat(f, 'g', -1, 64)
	}
	return singleFromText(t, text)
}

// durationText writes a duration without the zero parts that Duration.String leaves at the end.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

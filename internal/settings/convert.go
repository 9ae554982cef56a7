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

// fromText reads the text of an environment variable or a flag as a value of the leaf's type. Errors show the text unless the
// setting is secret.
func (s *setting) fromText(text string) (reflect.Value, error) {
	switch s.kind {
	case freeForm:
		raw, err := parseObject(text)
		return reflect.ValueOf(raw), err
	case list:
		items := reflect.Zero(s.typ) // an empty list is nil
		if strings.TrimSpace(text) == "" {
			return items, nil
		}
		for item := range strings.SplitSeq(text, ",") {
			item = strings.TrimSpace(item)
			v, err := singleFromText(s.typ.Elem(), item)
			if err != nil {
				return items, s.notText(err, item)
			}
			items = reflect.Append(items, v)
		}
		return items, nil
	}
	v, err := singleFromText(s.typ, text)
	if err != nil {
		return v, s.notText(err, text)
	}
	return v, nil
}

// notText adds to an error the text that is wrong.
func (s *setting) notText(err error, text string) error {
	if s.secret != "" {
		return err
	}
	return errors.New(withValue(err.Error(), quoted(text)))
}

// fromValue takes what a file or a typed flag holds for one value, without turning one type into another.
func (s *setting) fromValue(value any) (reflect.Value, error) {
	if s.kind == freeForm {
		raw, err := encodeObject(value)
		return reflect.ValueOf(raw), err
	}
	return singleFromValue(s.typ, value, s.secret)
}

// shown returns a value as errors show it, "" for that of a secret.
func (s *setting) shown(v reflect.Value) string {
	if s.secret != "" || s.kind == freeForm {
		return ""
	}
	return shownValue(v)
}

// shownValue returns a plain value as errors show it.
func shownValue(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return durationText(time.Duration(v.Int()))
	case v.Kind() == reflect.String:
		return quoted(v.String())
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// quoted returns a text in quotes, without what may be a password in a URL, and cut when it is long.
func quoted(text string) string {
	if strings.Contains(text, "://") && strings.ContainsAny(text, "@?") {
		text = maskURL(text)
	}
	return strconv.Quote(cut(text))
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

// described names what is there instead, with its value unless the setting is secret.
func described(value any, secret string) string {
	shown := func(kind, value string) string {
		if secret != "" {
			return kind
		}
		return "the " + strings.TrimPrefix(kind, "a ") + " " + value
	}
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return shown("a string", quoted(v))
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return "a date: put it in quotes"
	case json.Number:
		return shown("a number", cut(v.String()))
	case float64:
		return shown("a number", strconv.FormatFloat(v, 'g', -1, 64))
	}
	switch k := reflect.TypeOf(value).Kind(); {
	case k == reflect.Map:
		return "an object"
	case k == reflect.Slice:
		return "a list"
	case k >= reflect.Int && k <= reflect.Float64:
		return shown("a number", fmt.Sprint(value))
	}
	return "of another type"
}

func isNumber(value any) bool { return strings.HasPrefix(described(value, "true"), "a number") }

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
		return integerFromText(t, text)
	}
	return v, nil
}

func integerFromText(t reflect.Type, text string) (reflect.Value, error) {
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

func singleFromValue(t reflect.Type, value any, secret string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	bad := fmt.Errorf("must be %s, not %s", wanted(t), described(value, secret))
	switch given := value.(type) {
	case string:
		switch {
		case t == durationType:
			v, err := singleFromText(t, given)
			if err != nil {
				err = bad
			}
			return v, err
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
		if isNumber(value) {
			bad = fmt.Errorf("%w: put it in quotes", bad)
		}
		return v, bad
	}
	if t == durationType || t.Kind() == reflect.Bool || !isNumber(value) {
		return v, bad
	}
	text := fmt.Sprint(value)
	if f, ok := value.(float64); ok {
		if !(t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64) {
			return v, bad
		}
		text = strconv.FormatFloat(f, 'g', -1, 64)
	}
	v, err := singleFromText(t, text)
	switch {
	case errors.Is(err, errRange):
		err = errors.New(withValue(err.Error(), cut(text)))
	case err != nil:
		err = bad
	}
	return v, err
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

package derived

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/expr-lang/expr/vm"

	"github.com/otkit/otkit/tags"
)

// state is what is known of a tag that others are computed from.
type state struct {
	kind    tags.DataType // empty if it is not known
	missing bool          // there is no such tag
	value   tags.Value
	quality tags.Quality
	reason  tags.Reason
	at      time.Time // when the value was taken, or its quality fell

	before   tags.Value // the usable value before value, with its time; zero if there was none
	beforeAt time.Time
	usable   bool // value is the newest usable one, although its quality may have fallen since
	valueAt  time.Time
}

// set takes over a new sample.
func (s *state) set(v tags.Value, q tags.Quality, reason tags.Reason, at time.Time) {
	if q != tags.Bad && !v.IsZero() {
		if s.usable && !at.Equal(s.valueAt) { // before it where a clock was set back
			s.before, s.beforeAt = s.value, s.valueAt
		}
		s.usable, s.valueAt = true, at
	} else if v.IsZero() {
		v = s.value
	}
	s.value, s.quality, s.reason, s.at = v, q, reason, at
}

// forgetChange makes the next value the first one of which changes are computed: what comes is another signal.
func (s *state) forgetChange() {
	s.before, s.beforeAt, s.usable = tags.Value{}, time.Time{}, false
}

// badError is why a result is Bad.
type badError struct {
	reason tags.Reason
	text   string
}

func (e *badError) Error() string { return e.text }

// usage collects what an evaluation uses.
type usage struct {
	quality tags.Quality // worst of the inputs
	reason  tags.Reason
	at      time.Time // newest of the inputs
}

func (u *usage) seen(s *state) {
	if s.at.After(u.at) {
		u.at = s.at
	}
}

// take returns an input that the result depends on.
func (p *program) take(i int) (*state, error) {
	s := &p.in[i].state
	p.use.seen(s)
	switch {
	case s.missing:
		return nil, &badError{tags.ReasonConfig, fmt.Sprintf("tag %q does not exist", p.inputs[i])}
	case s.quality == tags.Bad || s.value.IsZero():
		reason := s.reason
		if reason == tags.ReasonNone {
			reason = tags.ReasonWaiting
		}
		return nil, &badError{reason, fmt.Sprintf("tag %q is Bad, %s", p.inputs[i], reason)}
	case p.kinds[i] != "" && s.value.Type() != p.kinds[i], s.value.Type() == tags.Bytes:
		return nil, &badError{tags.ReasonType, fmt.Sprintf("tag %q has a value of type %s", p.inputs[i], s.value.Type())}
	}
	if s.quality < p.use.quality {
		p.use.quality, p.use.reason = s.quality, s.reason
	}
	return s, nil
}

// plain returns a value as expressions have it.
func plain(v tags.Value) any {
	switch v.Type() {
	case tags.Bool:
		return v.Bool()
	case tags.Int:
		return v.Int()
	case tags.Float:
		f, _ := v.Float()
		return f
	}
	return v.Text()
}

func constant(t reflect.Type) func([]reflect.Type) (reflect.Type, error) {
	return func([]reflect.Type) (reflect.Type, error) { return t, nil }
}

// aboutTags are the functions of one tag.
var aboutTags = map[string]func(p *program, i int) function{
	"tag": func(p *program, i int) function {
		return function{constant(typeOf(p.kinds[i])), func(...any) (any, error) {
			s, err := p.take(i)
			if err != nil {
				return nil, err
			}
			return plain(s.value), nil
		}}
	},
	"good": func(p *program, i int) function {
		return function{constant(boolType), func(...any) (any, error) {
			s := &p.in[i].state
			p.use.seen(s)
			return !s.missing && s.quality == tags.Good && !s.value.IsZero(), nil
		}}
	},
	"quality": func(p *program, i int) function {
		return function{constant(stringType), func(...any) (any, error) {
			s := &p.in[i].state
			p.use.seen(s)
			return s.quality.String(), nil
		}}
	},
	"delta": func(p *program, i int) function { return p.change(i, false) },
	"rate":  func(p *program, i int) function { return p.change(i, true) },
}

var errNotNumeric = errors.New("needs a tag of type Int or Float")

// change is the last change of a numeric tag.
func (p *program) change(i int, perSecond bool) function {
	result := floatType
	if !perSecond && p.kinds[i] == tags.Int {
		result = intType
	} else if !perSecond && p.kinds[i] == "" {
		result = anyType
	}
	return function{
		validate: func([]reflect.Type) (reflect.Type, error) {
			if k := p.kinds[i]; k != "" && k != tags.Int && k != tags.Float {
				return nil, errNotNumeric
			}
			return result, nil
		},
		call: func(...any) (any, error) {
			s, err := p.take(i)
			switch {
			case err != nil:
				return nil, err
			case s.before.IsZero() || s.before.Type() != s.value.Type():
				return nil, &badError{tags.ReasonWaiting, fmt.Sprintf("tag %q has not changed yet", p.inputs[i])}
			case !perSecond:
				return operatorFunctions["$sub"].call(plain(s.value), plain(s.before))
			}
			if !s.valueAt.After(s.beforeAt) {
				return nil, &badError{tags.ReasonWaiting, fmt.Sprintf("the time of tag %q went back", p.inputs[i])}
			}
			now, ok := s.value.Float()
			was, _ := s.before.Float()
			if !ok || s.value.Type() == tags.Bool {
				return nil, errNotNumeric
			}
			return number((now - was) / s.valueAt.Sub(s.beforeAt).Seconds())
		},
	}
}

// usable reports whether the value of an input can be used.
func (p *program) usable(i int) function {
	return function{constant(boolType), func(...any) (any, error) {
		_, err := p.take(i)
		return err == nil, nil
	}}
}

// fallback returns the value of an input, or the argument, which is nil unless it is needed.
func (p *program) fallback(i int) function {
	floats := false // the type is Float, whichever of the two it is
	return function{
		validate: func(args []reflect.Type) (reflect.Type, error) {
			a, b := p.kinds[i], dataType(args[0])
			switch {
			case a == b || b == "":
				floats = a == tags.Float
				return typeOf(a), nil
			case a == "":
				return anyType, nil
			case ordered(a, b):
				floats = true
				return floatType, nil
			}
			return nil, fmt.Errorf("a %s cannot stand for a %s", b, a)
		},
		call: func(args ...any) (any, error) {
			s, err := p.take(i)
			value := args[0]
			if err == nil {
				value = plain(s.value)
			}
			if f, ok := float(value); ok && floats {
				return f, nil
			}
			return value, nil
		},
	}
}

// run evaluates the program. value is zero if the result is Bad; why then says why.
func (p *program) run(machine *vm.VM, kind tags.DataType) (value tags.Value, use usage, bad *badError) {
	use = usage{quality: tags.Good}
	p.use = &use
	defer func() { p.use = nil }()
	out, err := machine.Run(p.code, nil)
	if err == nil {
		value, err = result(out, kind)
	}
	if err == nil {
		return value, use, nil
	}
	use.quality = tags.Bad
	if errors.As(err, &bad) {
		return tags.Value{}, use, bad
	}
	return tags.Value{}, use, &badError{tags.ReasonType, located(err).Error()}
}

// result converts what an expression returned to a value of a type; any for an empty one.
func result(out any, kind tags.DataType) (tags.Value, error) {
	var v tags.Value
	switch x := out.(type) {
	case bool:
		v = tags.BoolValue(x)
	case string:
		if len(x) > MaxTextBytes {
			return v, fmt.Errorf("the text is longer than %d bytes", MaxTextBytes)
		}
		v = tags.StringValue(x)
	case float64:
		if v = tags.FloatValue(x); v.IsZero() {
			return v, errNumber
		}
	default:
		n, ok := integer(out)
		if !ok {
			return v, fmt.Errorf("the result is not of a type that tags have")
		}
		v = tags.IntValue(n)
	}
	switch {
	case kind == "" || v.Type() == kind:
		return v, nil
	case kind == tags.Float && v.Type() == tags.Int:
		return tags.FloatValue(float64(v.Int())), nil
	}
	return tags.Value{}, fmt.Errorf("the result is of type %s, not %s", v.Type(), kind)
}

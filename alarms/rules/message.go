package rules

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/tags"
)

// message is a compiled template of texts and placeholders.
type message []messagePart

type messagePart struct {
	text string
	name string // of a placeholder; empty for a text
}

// compileMessage parses a template.
func compileMessage(s string) (message, error) {
	var (
		m    message
		text strings.Builder
	)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '{' && c != '}' {
			text.WriteByte(c)
			continue
		}
		if i+1 < len(s) && s[i+1] == c {
			text.WriteByte(c)
			i++
			continue
		}
		if c == '}' {
			return nil, errors.New("has a } without a {; write }} for a brace")
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return nil, errors.New("has a { without a }; write {{ for a brace")
		}
		name := s[i+1 : i+end]
		switch name {
		case "name", "tag", "kind", "value", "unit", "limit", "setpoint":
		default:
			return nil, fmt.Errorf("has the unknown placeholder {%.40s}", name)
		}
		m = append(m, messagePart{text: text.String()}, messagePart{name: name})
		text.Reset()
		i += end
	}
	return append(m, messagePart{text: text.String()}), nil
}

// fill replaces the placeholders. An empty unit removes the preceding space.
func (m message) fill(value func(name string) string) string {
	var text []byte
	for _, p := range m {
		switch v := value(p.name); {
		case p.name == "":
			text = append(text, p.text...)
		case p.name == "unit" && v == "":
			text = bytes.TrimSuffix(text, []byte(" "))
		default:
			text = append(text, v...)
		}
	}
	return string(text)
}

// defaultMessage returns the template for a rule without one: its name, if it has one, and a text for its kind.
func (r *Rule) defaultMessage() string {
	if r.Name != "" {
		return "{name}: " + r.defaultText()
	}
	return r.defaultText()
}

func (r *Rule) defaultText() string {
	switch r.Kind {
	case HighHigh, High:
		return "{tag} is {value} {unit}, above {limit}"
	case Low, LowLow:
		return "{tag} is {value} {unit}, below {limit}"
	case Deviation:
		return "{tag} is {value} {unit}, further than {limit} from {setpoint}"
	case RateOfChange:
		return "{tag} changes by more than {limit} {unit} a second"
	case Discrete:
		return "{tag} is {value}"
	case Stale:
		return "{tag} has no new value"
	}
	return "{tag} has no good value"
}

// reading is what a rule compares with its limit.
type reading struct{ value, setpoint tags.Value }

// evidence returns the reading that an alarm names: the last one beyond the limit, because the present one may be back within the
// deadband at the end of a delay.
func (e *evaluation) evidence() reading {
	if e.over && !e.beyond.value.IsZero() {
		return e.beyond
	}
	now := reading{value: e.tag.value}
	if e.setpoint != nil {
		now.setpoint = e.setpoint.value
	}
	return now
}

// cause returns what raises the alarm.
func (e *evaluation) cause() alarms.Cause {
	c := alarms.Cause{Tag: e.rule.Tag, Rule: e.rule.ID, Instructions: e.rule.Instructions}
	if !e.rule.ofQuality() {
		c.Value = limits.Clip(e.evidence().value.String())
	}
	if e.rule.numeric() {
		c.Limit = number(e.rule.Limit)
	}
	return c
}

// text returns the message with its placeholders replaced.
func (e *evaluation) text() string {
	read := e.evidence()
	s := e.message.fill(func(name string) string {
		switch name {
		case "name":
			return e.rule.Name
		case "tag":
			return e.rule.Tag
		case "kind":
			return string(e.rule.Kind)
		case "value":
			return shown(read.value)
		case "unit":
			return e.tag.unit()
		case "setpoint":
			if e.setpoint != nil {
				return shown(read.setpoint)
			}
			return number(e.rule.Setpoint)
		}
		return number(e.rule.Limit)
	})
	return limits.Clip(s)
}

// shown returns a value for display, a Float with six significant digits.
func shown(v tags.Value) string {
	if f, ok := v.Float(); ok && v.Type() == tags.Float {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	return v.String()
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

package rules

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
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

package silences

import "strings"

// Pattern matches names. A * stands for any run of characters, the empty one included; every other
// character stands for itself, case included. A pattern without * matches the equal name alone.
type Pattern struct {
	parts []string // the texts between the stars; a single one when there is no star
}

// CompilePattern reads a pattern. Every text is one.
func CompilePattern(text string) Pattern {
	return Pattern{parts: strings.Split(text, "*")}
}

// Match reports whether the pattern matches a name. It takes time in proportion to the lengths of the
// name and the pattern: the earliest place of each part is always a right one.
func (p Pattern) Match(name string) bool {
	if len(p.parts) < 2 {
		return len(p.parts) == 1 && p.parts[0] == name
	}
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return true
}

package aas

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Path leads to an element of a submodel: an idShortPath such as a.b[2].c. The empty path is the
// submodel itself.
type Path []PathStep

// PathStep is one step of a [Path]: an idShort, or an index into a list when that is empty.
type PathStep struct {
	IDShort string
	Index   int
}

// maxPath bounds the text of a path, in bytes.
const maxPath = 16 << 10

// ParsePath reads an idShortPath: idShorts with dots between them, and indexes of lists in brackets
// without leading zeros. The first step is an idShort. Of an idShort only the characters that divide
// steps, controls and white space are refused. The error is ErrInvalidRequest.
func ParsePath(text string) (Path, error) {
	if len(text) > maxPath || strings.ToValidUTF8(text, "") != text {
		return nil, invalid("idShortPath", "is too long or not valid UTF-8")
	}
	path := make(Path, 0, 1+strings.Count(text, ".")+strings.Count(text, "["))
	rest := "." + text
	for rest != "" {
		step, after, ok := parseStep(rest)
		if !ok || len(path) == 0 && step.IDShort == "" {
			return nil, invalid("idShortPath", "must be idShorts with dots between them and indexes in brackets, such as a.b[2].c")
		}
		path, rest = append(path, step), after
	}
	if len(path) > 3*MaxDepth {
		return nil, invalid("idShortPath", "has more steps than elements can be nested")
	}
	return path, nil
}

// parseStep reads ".name" or "[0]".
func parseStep(text string) (step PathStep, rest string, ok bool) {
	if text[0] == '[' {
		digits, rest, found := strings.Cut(text[1:], "]")
		index, err := strconv.ParseUint(digits, 10, 31)
		if !found || err != nil || strconv.FormatUint(index, 10) != digits {
			return step, "", false
		}
		return PathStep{Index: int(index)}, rest, true
	}
	end := 1
	for end < len(text) && text[end] != '.' && text[end] != '[' {
		end++
	}
	name := text[1:end]
	bad := func(r rune) bool { return r == ']' || unicode.IsControl(r) || unicode.IsSpace(r) }
	if text[0] != '.' || name == "" || strings.ContainsFunc(name, bad) {
		return step, "", false
	}
	return PathStep{IDShort: name}, text[end:], true
}

// String returns the text of the path.
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		if step.IDShort == "" {
			b.WriteString("[" + strconv.Itoa(step.Index) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step.IDShort)
	}
	return b.String()
}

// Parent returns the path without its last step; empty for one step and for none.
func (p Path) Parent() Path { return slices.Clip(p[:max(len(p)-1, 0)]) }

// Leaf returns the last step; the zero step for an empty path.
func (p Path) Leaf() PathStep {
	if len(p) == 0 {
		return PathStep{}
	}
	return p[len(p)-1]
}

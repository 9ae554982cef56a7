package tags

import (
	"strings"
	"unicode/utf8"
)

// Pattern is a compiled SQL LIKE pattern: % stands for any text, _ for any one character, and \ takes
// the next character as it is. Matching ignores case. Safe for concurrent use.
type Pattern struct {
	tokens []likeToken
}

type likeToken struct {
	kind byte // '%', '_' or 'c' for a literal character
	char rune
}

// MaxPatternBytes is the length limit of a pattern.
const MaxPatternBytes = 256

// CompilePattern compiles a LIKE pattern. The error is an ErrInvalidRequest.
func CompilePattern(pattern string) (*Pattern, error) {
	if len(pattern) > MaxPatternBytes {
		return nil, ErrInvalidRequest.Because("a name pattern has at most %d bytes", MaxPatternBytes)
	}
	if !utf8.ValidString(pattern) {
		return nil, ErrInvalidRequest.Because("a name pattern must be valid UTF-8")
	}
	p := &Pattern{}
	escaped := false
	for _, r := range strings.ToLower(pattern) {
		switch {
		case escaped:
			p.tokens = append(p.tokens, likeToken{'c', r})
			escaped = false
		case r == '\\':
			escaped = true
		case r == '%':
			if n := len(p.tokens); n == 0 || p.tokens[n-1].kind != '%' {
				p.tokens = append(p.tokens, likeToken{kind: '%'})
			}
		case r == '_':
			p.tokens = append(p.tokens, likeToken{kind: '_'})
		default:
			p.tokens = append(p.tokens, likeToken{'c', r})
		}
	}
	if escaped {
		return nil, ErrInvalidRequest.Because(`a name pattern must not end in the escape character \`)
	}
	return p, nil
}

// Match reports whether the whole of name matches.
func (p *Pattern) Match(name string) bool { return p.matchLower(strings.ToLower(name)) }

// matchLower matches a name that is in lower case already. On a mismatch it goes back to the last %
// only, so the time is at most the product of both lengths.
func (p *Pattern) matchLower(name string) bool {
	t, star := 0, -1
	pos, resume := 0, 0
	for pos < len(name) {
		if t < len(p.tokens) {
			tok := p.tokens[t]
			if tok.kind == '%' {
				star, resume = t, pos
				t++
				continue
			}
			r, size := utf8.DecodeRuneInString(name[pos:])
			if tok.kind == '_' || tok.char == r {
				t++
				pos += size
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[resume:])
		resume += size
		pos, t = resume, star+1
	}
	for t < len(p.tokens) && p.tokens[t].kind == '%' {
		t++
	}
	return t == len(p.tokens)
}

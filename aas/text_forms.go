package aas

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// isVersion reports whether a text is a version or a revision.
func isVersion(s string) bool {
	return strings.Trim(s, "0123456789") == "" && (len(s) == 1 || len(s) > 1 && s[0] != '0')
}

// isIDShort takes one letter alone as well, as V3.0 does.
func isIDShort(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && s[len(s)-1] != '-'
}

// languageForm is the grammar of RFC 5646, section 2.1. Case makes no difference.
var languageForm = regexp.MustCompile(`(?i)^(([a-z]{2,3}(-[a-z]{3}){0,3}|[a-z]{4,8})(-[a-z]{4})?(-([a-z]{2}|\d{3}))?` +
	`(-([a-z\d]{5,8}|\d[a-z\d]{3}))*(-[a-wyz\d](-[a-z\d]{2,8})+)*(-x(-[a-z\d]{1,8})+)?|x(-[a-z\d]{1,8})+|` +
	`en-gb-oed|i-(ami|bnn|default|enochian|hak|klingon|lux|mingo|navajo|pwn|tao|tay|tsu)|sgn-(be-(fr|nl)|ch-de)|` +
	`art-lojban|cel-gaulish|no-(bok|nyn)|zh-(guoyu|hakka|min|min-nan|xiang))$`)

func isLanguage(s string) bool {
	if len(s) == 2 {
		return s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' && s[1]|0x20 >= 'a' && s[1]|0x20 <= 'z'
	}
	return languageForm.MatchString(s)
}

func isEnglish(language string) bool {
	return strings.HasPrefix(language+"-", "en-") || strings.HasPrefix(language+"-", "EN-")
}

// The grammar of RFC 7231, section 3.1.1.1. Most media types have no parameters.
var (
	parametersForm = regexp.MustCompile(`^([ \t]*;[ \t]*[!#$%&'*+.^_` + "`" + `|~0-9a-zA-Z-]+=([!#$%&'*+.^_` + "`" + `|~0-9a-zA-Z-]+|` +
		`"([\t !#-\[\]-~\x{80}-\x{ff}]|\\[\t !-~\x{80}-\x{ff}])*"))*$`)
	tokenBytes = setOfBytes("!#$%&'*+-.^_`|~0123456789" + letters)
)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func isMediaType(s string) bool {
	main := tokenBytes.prefix(s)
	if main == 0 || main == len(s) || s[main] != '/' {
		return false
	}
	s = s[main+1:]
	sub := tokenBytes.prefix(s)
	return sub > 0 && (sub == len(s) || parametersForm.MatchString(s[sub:]))
}

// uriBytes are the bytes of URIs besides escapes.
type uriBytes struct{ segment, path, any *byteSet }

func uriBytesOf(more string) uriBytes {
	const common = "-_.!~*'();@&=+$,0123456789" + letters
	return uriBytes{setOfBytes(common + more), setOfBytes(common + ":/" + more), setOfBytes(common + ":/?" + more)}
}

// The characters of RFC 2396, appendix A, and those that an xs:anyURI has in place of escapes.
var (
	schemeBytes = setOfBytes("0123456789+-." + letters)
	plainURI    = uriBytesOf("")
	anyURI      = func() uriBytes {
		b := uriBytesOf(" <>\"{}|\\^`")
		for _, set := range []*byteSet{b.segment, b.path, b.any} {
			for c := utf8.RuneSelf; c < 256; c++ {
				set[c] = true
			}
		}
		b.any['['], b.any[']'] = true, true // RFC 2732
		return b
	}()
)

// isURI reports whether a text is a reference to a URI as in RFC 2396: absolute or relative, with or without a fragment,
// or empty.
func isURI(s string) bool { return plainURI.refer(s) }

// literalAddress is an authority with an address of IPv6, RFC 2732.
var literalAddress = regexp.MustCompile(`^//([^@/\[\]]*@)?\[([[:xdigit:]]{1,4}(:[[:xdigit:]]{1,4})*(::([[:xdigit:]]{1,4}(:[[:xdigit:]]{1,4})*)?)?|` +
	`::([[:xdigit:]]{1,4}(:[[:xdigit:]]{1,4})*)?)(:\d{1,3}(\.\d{1,3}){3})?\](:\d*)?(/|$)`)

// isAnyURI reports whether a text is an xs:anyURI: what is a reference to a URI after characters that a URI cannot have
// are escaped.
func isAnyURI(s string) bool { return isXMLText(s) && anyURI.refer(s) }

// refer reports whether a text is a reference to a URI. Whatever may be the authority of a URI may also be the beginning
// of a path.
func (b uriBytes) refer(s string) bool {
	s, fragment, _ := strings.Cut(s, "#")
	if !b.any.escaped(fragment) {
		return false
	}
	if n := schemeBytes.prefix(s); n > 0 && n < len(s) && s[n] == ':' && s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' {
		if s = s[n+1:]; s == "" || s[0] != '/' {
			return s != "" && b.any.escaped(s)
		}
	}
	path, query, _ := strings.Cut(s, "?")
	if strings.HasPrefix(path, "//") && strings.Contains(path, "[") && b.any['['] {
		address := literalAddress.FindString(path)
		if address == "" {
			return false
		}
		path = "/" + path[len(address):]
	}
	if path == "" {
		return s == ""
	}
	first, _, _ := strings.Cut(path, "/")
	return b.segment.escaped(first) && b.path.escaped(path) && b.any.escaped(query)
}

// isUTC reports whether a text is a time in UTC.
func isUTC(s string) bool {
	utc := strings.HasSuffix(s, "Z") || strings.HasSuffix(s, "+00:00") || strings.HasSuffix(s, "-00:00")
	return utc && lexicalRules[DateTime](s)
}

type byteSet [256]bool

func setOfBytes(list string) *byteSet {
	set := new(byteSet)
	for i := range len(list) {
		set[list[i]] = true
	}
	return set
}

// prefix returns how many bytes at the start of a text are in the set.
func (b *byteSet) prefix(s string) int {
	n := 0
	for n < len(s) && b[s[n]] {
		n++
	}
	return n
}

// escaped reports whether a text is bytes of the set and escapes such as %20.
func (b *byteSet) escaped(s string) bool {
	for i := 0; i < len(s); i++ {
		if b[s[i]] {
			continue
		}
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			return false
		}
		i += 2
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

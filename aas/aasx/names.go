package aasx

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckName returns an error if a file of a package cannot have this name.
func CheckName(name string) error {
	plain, absolute := strings.CutPrefix(name, "/")
	why := badName(plain)
	switch {
	case !absolute:
		why = `has to begin with "/"`
	case why == "" && reserved(name):
		why = "belongs to the package itself"
	case why == "" && isOrigin(name):
		why = "is the origin of the package"
	}
	if why != "" {
		return errors.New(why)
	}
	return nil
}

// badName returns why a path within the archive, without the leading slash, is refused; empty if it is
// not. Paths are never used on a disk here, but who takes the files may do so.
func badName(path string) string {
	switch {
	case path == "":
		return "is empty"
	case !utf8.ValidString(path):
		return "is not valid UTF-8"
	case strings.ContainsFunc(path, unicode.IsControl):
		return "has a control character"
	case strings.Contains(path, `\`):
		return "has a backslash"
	case strings.HasPrefix(path, "/"):
		return "is absolute"
	case len(path) > 1 && path[1] == ':' && unicode.IsLetter(rune(path[0])):
		return "begins with a drive letter"
	}
	for s := range strings.SplitSeq(path, "/") {
		if s == "" || s == "." || s == ".." {
			return "has an empty, . or .. segment"
		}
	}
	return ""
}

// decoded returns the name of a part from its path in the archive, which is percent-encoded (ECMA-376 part
// 2, "Mapping part names to ZIP item names"); what is no encoding stands for itself.
func decoded(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	return "/" + path
}

// reserved reports whether a name belongs to the packaging itself.
func reserved(name string) bool {
	name = strings.ToLower(name)
	return name == "/[content_types].xml" || strings.Contains(name+"/", "/_rels/")
}

package aas

import (
	"net/url"
	"strings"
)

// FileNames finds stored files by how elements and thumbnails name them. The value of an element is a
// URI: it may have file: before it, percent-encoding, no slash at its start, or other case than the
// file (IDTA-01005 has names of parts compared as ECMA-376 part 2 does).
type FileNames struct {
	exact  map[string]bool
	folded map[string]string
}

// NewFileNames takes the names of the files. Where two differ by case alone and an element means
// neither exactly, the first is found.
func NewFileNames(names ...[]string) FileNames {
	f := FileNames{exact: make(map[string]bool), folded: make(map[string]string)}
	for _, list := range names {
		for _, name := range list {
			f.exact[name] = true
			if key := foldFileName(name); f.folded[key] == "" {
				f.folded[key] = name
			}
		}
	}
	return f
}

// Find returns the name of the file that a value means.
func (f FileNames) Find(value string) (name string, ok bool) {
	plain := FileName(value)
	for _, name := range []string{plain, value} {
		if f.exact[name] {
			return name, true
		}
	}
	name, ok = f.folded[foldFileName(plain)]
	return name, ok && value != ""
}

// FileName returns the absolute path of the file that the value of an element means.
func FileName(value string) string {
	if len(value) >= 5 && strings.EqualFold(value[:5], "file:") {
		value = value[5:]
	}
	if plain, err := url.PathUnescape(value); err == nil {
		value = plain
	}
	return "/" + strings.TrimLeft(value, "/")
}

func foldFileName(name string) string { return strings.ToLower("/" + strings.TrimLeft(name, "/")) }

// FileValue returns the value by which an element names a file: its name as a URI.
func FileValue(name string) string { return (&url.URL{Path: name}).EscapedPath() }

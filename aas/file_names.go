package aas

import (
	"context"
	"errors"
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

// Find gives the name of the file that a value means.
func (f FileNames) Find(value string) (name string, ok bool) {
	plain := plainFileName(value)
	for _, name := range []string{plain, value} {
		if f.exact[name] {
			return name, true
		}
	}
	name, ok = f.folded[foldFileName(plain)]
	return name, ok && value != ""
}

// plainFileName gives the absolute path that the value of an element stands for.
func plainFileName(value string) string {
	if len(value) >= 5 && strings.EqualFold(value[:5], "file:") {
		value = value[5:]
	}
	if plain, err := url.PathUnescape(value); err == nil {
		value = plain
	}
	return "/" + strings.TrimLeft(value, "/")
}

func foldFileName(name string) string { return strings.ToLower("/" + strings.TrimLeft(name, "/")) }

// FileValue gives the value by which an element names a file: its name as a URI.
func FileValue(name string) string { return (&url.URL{Path: name}).EscapedPath() }

// namedFile gives the file of a document that a value means.
func (s *Service) namedFile(ctx context.Context, kind Kind, id, value string) (StoredFile, error) {
	f, err := s.File(ctx, FileKey{kind, id, plainFileName(value)})
	if !errors.Is(err, ErrFileNotFound) {
		return f, err
	}
	names, err := s.FileNames(ctx, kind, id)
	if err != nil {
		return StoredFile{}, err
	}
	name, ok := NewFileNames(names).Find(value)
	if !ok {
		return StoredFile{}, ErrFileNotFound
	}
	return s.File(ctx, FileKey{kind, id, name})
}

// dropped gives the stored files of a document that it named before and does not name now, when the
// files of a change are there.
func dropped(d Document, stored, before, now []string, files []StoredFile) []FileKey {
	fresh := make([]string, len(files))
	for i := range files {
		fresh[i] = files[i].Key.Name
	}
	old, kept := named(NewFileNames(stored), before), named(NewFileNames(fresh, stored), now)
	var keys []FileKey
	for _, name := range stored {
		if old[name] && !kept[name] {
			keys = append(keys, FileKey{d.Kind, d.ID, name})
		}
	}
	return keys
}

// named gives the names of the files that some values mean.
func named(files FileNames, values []string) map[string]bool {
	names := make(map[string]bool, len(values))
	for _, value := range values {
		if name, ok := files.Find(value); ok {
			names[name] = true
		}
	}
	return names
}

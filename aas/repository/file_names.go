package repository

import (
	"context"
	"errors"

	"github.com/otkit/otkit/aas"
)

// namedFile returns the file of a document that a value means.
func (s *Service) namedFile(ctx context.Context, kind Kind, id, value string) (StoredFile, error) {
	f, err := s.File(ctx, FileKey{kind, id, aas.FileName(value)})
	if !errors.Is(err, ErrFileNotFound) {
		return f, err
	}
	names, err := s.FileNames(ctx, kind, id)
	if err != nil {
		return StoredFile{}, err
	}
	name, ok := aas.NewFileNames(names).Find(value)
	if !ok {
		return StoredFile{}, ErrFileNotFound
	}
	return s.File(ctx, FileKey{kind, id, name})
}

// dropped returns the stored files of a document that it named before and does not name now, when the
// files of a change are there.
func dropped(d Document, stored, before, now []string, files []StoredFile) []FileKey {
	fresh := make([]string, len(files))
	for i := range files {
		fresh[i] = files[i].Key.Name
	}
	old, kept := named(aas.NewFileNames(stored), before), named(aas.NewFileNames(fresh, stored), now)
	var keys []FileKey
	for _, name := range stored {
		if old[name] && !kept[name] {
			keys = append(keys, FileKey{d.Kind, d.ID, name})
		}
	}
	return keys
}

// named returns the names of the files that some values mean.
func named(files aas.FileNames, values []string) map[string]bool {
	names := make(map[string]bool, len(values))
	for _, value := range values {
		if name, ok := files.Find(value); ok {
			names[name] = true
		}
	}
	return names
}

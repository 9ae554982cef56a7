package repository

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
)

// PutFile keeps the content of a File element: its value becomes the name under which the service
// keeps it, as a URI (see [aas.FileValue]), its content type the given one. A file that it had before is removed,
// unless another element names it too. fileName is a hint; folders in it are dropped. Content above
// Options.MaxFileBytes is ErrFileTooLarge, an element of another kind ErrNotAFile.
func (s *Service) PutFile(ctx context.Context, submodelID string, p aas.Path, fileName, contentType string, data []byte, m Match) error {
	if int64(len(data)) > s.opts.MaxFileBytes {
		return ErrFileTooLarge.Because("%d bytes, the limit is %d", len(data), s.opts.MaxFileBytes)
	}
	folder := "/aasx/" + strings.NewReplacer("[", ".", "]", "").Replace(p.String())
	_, err := s.Submodels.change(ctx, submodelID, m, func(v *aas.Submodel, edit *edit) error {
		f, err := fileElement(v, p)
		if err != nil {
			return err
		}
		before := ""
		if f.Value != nil {
			before, f.Value = *f.Value, nil
		}
		name, err := s.Submodels.freeName(ctx, v, before, folder, baseName(fileName))
		if err != nil {
			return err
		}
		f.Value, f.ContentType = new(aas.FileValue(name)), contentType
		edit.event, edit.path, edit.subject = ValueChanged, p.String(), f
		edit.files = []StoredFile{{Key: FileKey{Name: name}, ContentType: contentType, Data: data}}
		return nil
	})
	return err
}

// freeName returns a file a name in a folder, or in one with a number behind it: a name that no other file
// of the document has and nothing in v names. v is without the value that the file is for; what that has
// meant before is in the way only when something else in v names it. The place of an element is no name by
// itself, because entries of a list move.
func (r *Repository[T]) freeName(ctx context.Context, v *T, before, folder, base string) (string, error) {
	stored, err := r.s.store.FileNames(ctx, r.form.kind, r.form.id(v))
	if err != nil {
		return "", err
	}
	files, values := aas.NewFileNames(stored), r.form.files(v)
	own, replaced := files.Find(before)
	kept := named(files, values)
	taken := make(map[string]bool, len(stored)+2*len(values))
	for _, name := range stored {
		if !replaced || name != own || kept[name] {
			taken[foldFileName(name)] = true
		}
	}
	for _, value := range values {
		taken[foldFileName(value)], taken[foldFileName(aas.FileName(value))] = true, true
	}
	name := folder + "/" + base
	for n := 2; taken[foldFileName(name)]; n++ {
		name = fmt.Sprintf("%s-%d/%s", folder, n, base)
	}
	return name, nil
}

// foldFileName returns what two names that differ by case alone have in common.
func foldFileName(name string) string { return strings.ToLower("/" + strings.TrimLeft(name, "/")) }

func fileElement(m *aas.Submodel, p aas.Path) (*aas.File, error) {
	e, err := m.Element(p)
	if err != nil {
		return nil, err
	}
	if f, ok := e.(*aas.File); ok {
		return f, nil
	}
	return nil, ErrNotAFile.On("path", p.String())
}

// baseName returns a name without folders and without what file systems and packages do not take.
func baseName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`<>:"|?*#%`, r) {
			return '_'
		}
		return r
	}, name)
	if strings.Trim(name, "./ ") == "" {
		return "file"
	}
	for len(name) > 200 {
		_, size := utf8.DecodeRuneInString(name)
		name = name[size:] // the end has the extension
	}
	return name
}

// GetFile returns the content of a File element. One that has none here, such as one that is a URL, is
// ErrFileNotFound.
func (s *Service) GetFile(ctx context.Context, submodelID string, p aas.Path) (StoredFile, error) {
	return s.currentFile(ctx, KindSubmodel, submodelID, func() (*string, error) {
		e, _, err := s.storedElement(ctx, submodelID, p)
		if err != nil {
			return nil, err
		}
		if f, ok := e.(*aas.File); ok {
			return f.Value, nil
		}
		return nil, ErrNotAFile.On("path", p.String())
	})
}

// currentFile returns the file of a document that a value means. Where there is none the value is read
// again: the file may just have been replaced by one of another name.
func (s *Service) currentFile(ctx context.Context, kind Kind, id string, read func() (*string, error)) (f StoredFile, err error) {
	value, err := read()
	if err != nil {
		return StoredFile{}, err
	}
	err = s.retry(ctx, func() error {
		if value == nil {
			return ErrFileNotFound
		}
		var missing error
		if f, missing = s.namedFile(ctx, kind, id, *value); !errors.Is(missing, ErrFileNotFound) {
			return missing
		}
		meant := *value
		if value, err = read(); err != nil {
			return err
		}
		if value != nil && *value == meant {
			return missing
		}
		return errAgain
	})
	return f, err
}

// File returns a stored file.
func (s *Service) File(ctx context.Context, key FileKey) (StoredFile, error) {
	if badID(key.ID) != "" || key.Name == "" || !utf8.ValidString(key.Name) || strings.Contains(key.Name, "\x00") {
		return StoredFile{}, ErrFileNotFound
	}
	return s.store.File(ctx, key)
}

// FileNames returns the names of the files that are stored for a document, ascending.
func (s *Service) FileNames(ctx context.Context, kind Kind, id string) ([]string, error) {
	if badID(id) != "" {
		return nil, nil
	}
	return s.store.FileNames(ctx, kind, id)
}

// DeleteFile removes the content of a File element and its value. One without content here is
// ErrFileNotFound.
func (s *Service) DeleteFile(ctx context.Context, submodelID string, p aas.Path, m Match) error {
	_, err := s.Submodels.change(ctx, submodelID, m, func(v *aas.Submodel, edit *edit) error {
		f, err := fileElement(v, p)
		if err != nil {
			return err
		}
		if f.Value == nil {
			return ErrFileNotFound
		}
		names, err := s.store.FileNames(ctx, KindSubmodel, submodelID)
		if err != nil {
			return err
		}
		if _, here := aas.NewFileNames(names).Find(*f.Value); !here {
			return ErrFileNotFound
		}
		f.Value = nil
		edit.event, edit.path, edit.subject = ValueChanged, p.String(), f
		return nil
	})
	return err
}

// PutThumbnail keeps a picture of the asset of a shell, as [Service.PutFile] keeps a file.
func (s *Service) PutThumbnail(ctx context.Context, shellID, fileName, contentType string, data []byte, m Match) error {
	if int64(len(data)) > s.opts.MaxFileBytes {
		return ErrFileTooLarge.Because("%d bytes, the limit is %d", len(data), s.opts.MaxFileBytes)
	}
	_, err := s.Shells.change(ctx, shellID, m, func(v *aas.Shell, edit *edit) error {
		before := ""
		if old := v.AssetInformation.DefaultThumbnail; old != nil {
			before, v.AssetInformation.DefaultThumbnail = old.Path, nil
		}
		name, err := s.Shells.freeName(ctx, v, before, "/aasx/thumbnail", baseName(fileName))
		if err != nil {
			return err
		}
		v.AssetInformation.DefaultThumbnail = &aas.Resource{Path: aas.FileValue(name), ContentType: contentType}
		edit.files = []StoredFile{{Key: FileKey{Name: name}, ContentType: contentType, Data: data}}
		return nil
	})
	return err
}

// Thumbnail returns the picture of the asset of a shell. A shell without one here is ErrFileNotFound.
func (s *Service) Thumbnail(ctx context.Context, shellID string) (StoredFile, error) {
	return s.currentFile(ctx, KindShell, shellID, func() (*string, error) {
		shell, err := s.Shells.Get(ctx, shellID)
		if err != nil {
			return nil, err
		}
		if thumbnail := shell.AssetInformation.DefaultThumbnail; thumbnail != nil {
			return &thumbnail.Path, nil
		}
		return nil, nil
	})
}

// DeleteThumbnail removes the picture of the asset of a shell. A shell without one is ErrFileNotFound.
func (s *Service) DeleteThumbnail(ctx context.Context, shellID string, m Match) error {
	_, err := s.Shells.change(ctx, shellID, m, func(v *aas.Shell, _ *edit) error {
		if v.AssetInformation.DefaultThumbnail == nil {
			return ErrFileNotFound
		}
		v.AssetInformation.DefaultThumbnail = nil
		return nil
	})
	return err
}

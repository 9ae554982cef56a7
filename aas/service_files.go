package aas

import (
	"context"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PutFile keeps the content of a File element: its value becomes the name under which the service
// keeps it, as a URI (see [FileValue]), its content type the given one. A file that it had before is removed. fileName is a hint;
// folders in it are dropped. Content above Options.MaxFileBytes is ErrFileTooLarge, an element of
// another kind ErrNotAFile.
func (s *Service) PutFile(ctx context.Context, submodelID string, p Path, fileName, contentType string, data []byte, m Match) error {
	if int64(len(data)) > s.opts.MaxFileBytes {
		return ErrFileTooLarge.Because("%d bytes, the limit is %d", len(data), s.opts.MaxFileBytes)
	}
	name := "/aasx/" + strings.NewReplacer("[", ".", "]", "").Replace(p.String()) + "/" + baseName(fileName)
	_, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		f, err := fileElement(v, p)
		if err != nil {
			return err
		}
		f.Value, f.ContentType = new(FileValue(name)), contentType
		edit.event, edit.path, edit.subject = ValueChanged, p.String(), f
		edit.files = []StoredFile{{Key: FileKey{Name: name}, ContentType: contentType, Data: data}}
		return nil
	})
	return err
}

func fileElement(m *Submodel, p Path) (*File, error) {
	e, err := m.Element(p)
	if err != nil {
		return nil, err
	}
	if f, ok := e.(*File); ok {
		return f, nil
	}
	return nil, ErrNotAFile.On("path", p.String())
}

// baseName gives a name without folders and without what file systems and packages do not take.
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

// GetFile gives the content of a File element. One that has none here, such as one that is a URL, is
// ErrFileNotFound.
func (s *Service) GetFile(ctx context.Context, submodelID string, p Path) (StoredFile, error) {
	e, _, err := s.storedElement(ctx, submodelID, p)
	if err != nil {
		return StoredFile{}, err
	}
	f, ok := e.(*File)
	if !ok {
		return StoredFile{}, ErrNotAFile.On("path", p.String())
	}
	if f.Value == nil {
		return StoredFile{}, ErrFileNotFound
	}
	return s.namedFile(ctx, KindSubmodel, submodelID, *f.Value)
}

// File gives a stored file.
func (s *Service) File(ctx context.Context, key FileKey) (StoredFile, error) {
	if badID(key.ID) != "" || key.Name == "" || !utf8.ValidString(key.Name) || strings.Contains(key.Name, "\x00") {
		return StoredFile{}, ErrFileNotFound
	}
	return s.store.File(ctx, key)
}

// FileNames gives the names of the files that are stored for a document, ascending.
func (s *Service) FileNames(ctx context.Context, kind Kind, id string) ([]string, error) {
	if badID(id) != "" {
		return nil, nil
	}
	return s.store.FileNames(ctx, kind, id)
}

// DeleteFile removes the content of a File element and its value. One without content here is
// ErrFileNotFound.
func (s *Service) DeleteFile(ctx context.Context, submodelID string, p Path, m Match) error {
	if _, err := s.GetFile(ctx, submodelID, p); err != nil {
		return err
	}
	_, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		f, err := fileElement(v, p)
		if err != nil {
			return err
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
	name := "/aasx/thumbnail/" + baseName(fileName)
	_, err := s.Shells.change(ctx, shellID, m, func(v *Shell, edit *edit) error {
		v.AssetInformation.DefaultThumbnail = &Resource{Path: FileValue(name), ContentType: contentType}
		edit.files = []StoredFile{{Key: FileKey{Name: name}, ContentType: contentType, Data: data}}
		return nil
	})
	return err
}

// Thumbnail gives the picture of the asset of a shell. A shell without one here is ErrFileNotFound.
func (s *Service) Thumbnail(ctx context.Context, shellID string) (StoredFile, error) {
	shell, err := s.Shells.Get(ctx, shellID)
	if err != nil {
		return StoredFile{}, err
	}
	thumbnail := shell.AssetInformation.DefaultThumbnail
	if thumbnail == nil {
		return StoredFile{}, ErrFileNotFound
	}
	return s.namedFile(ctx, KindShell, shellID, thumbnail.Path)
}

// DeleteThumbnail removes the picture of the asset of a shell. A shell without one is ErrFileNotFound.
func (s *Service) DeleteThumbnail(ctx context.Context, shellID string, m Match) error {
	_, err := s.Shells.change(ctx, shellID, m, func(v *Shell, _ *edit) error {
		if v.AssetInformation.DefaultThumbnail == nil {
			return ErrFileNotFound
		}
		v.AssetInformation.DefaultThumbnail = nil
		return nil
	})
	return err
}

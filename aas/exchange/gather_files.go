package exchange

import (
	"bytes"
	"errors"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

func (g *gatherer) files() error {
	env := &g.out.Environment
	for i, s := range env.Shells {
		s, moved, err := packWith(g, g.s.Shells, repository.KindShell, s.ID, s, thumbnailValues)
		if err != nil {
			return err
		}
		env.Shells[i] = s
		thumbnail := s.AssetInformation.DefaultThumbnail
		if thumbnail == nil {
			continue
		}
		part, value := moved.find(thumbnail.Path)
		if part == "" && !absolute(thumbnail.Path) {
			s.AssetInformation.DefaultThumbnail = nil
			continue
		}
		if thumbnail.Path = value; g.out.Thumbnail == "" {
			g.out.Thumbnail = part
		}
	}
	for i, s := range env.Submodels {
		s, moved, err := packWith(g, g.s.Submodels, repository.KindSubmodel, s.ID, s, fileValues)
		if err != nil {
			return err
		}
		env.Submodels[i] = s
		s.Walk(func(_ aas.Path, e aas.Element) bool {
			if f, ok := e.(*aas.File); ok && f.Value != nil {
				if _, value := moved.find(*f.Value); value != *f.Value {
					f.Value = &value
				}
			}
			return true
		})
	}
	return nil
}

// absolute reports whether a path leads out of the package, as https://example.com/a.png does.
func absolute(path string) bool {
	u, err := url.Parse(path)
	return err == nil && u.IsAbs() && u.Host != ""
}

func thumbnailValues(s *aas.Shell) []string {
	if thumbnail := s.AssetInformation.DefaultThumbnail; thumbnail != nil {
		return []string{thumbnail.Path}
	}
	return nil
}

func fileValues(s *aas.Submodel) (values []string) {
	s.Walk(func(_ aas.Path, e aas.Element) bool {
		if f, ok := e.(*aas.File); ok && f.Value != nil {
			values = append(values, *f.Value)
		}
		return true
	})
	return values
}

// mostReads is how often a document is read whose files are replaced again and again.
const mostReads = 20

// packWith adds the files of a document and returns the document that names them: it is read again when it
// names others by now, because a file that is replaced meanwhile gets another name.
func packWith[T repository.Storable](g *gatherer, r *repository.Repository[T], kind repository.Kind, id string, v *T, values func(*T) []string) (*T, packed, error) {
	for reads := 1; ; reads++ {
		files, bytes := len(g.out.Files), g.bytes
		moved, err := g.pack(kind, id)
		if err != nil || len(moved.parts) == 0 && len(values(v)) == 0 || reads == mostReads {
			return v, moved, err
		}
		now, err := r.Get(g.ctx, id)
		if fault.KindOf(err) == fault.NotFound {
			return v, moved, nil // it was removed meanwhile
		}
		if err != nil || slices.Equal(values(v), values(now)) {
			return v, moved, err
		}
		v = now
		for _, f := range g.out.Files[files:] {
			delete(g.names, strings.ToLower(f.Name))
		}
		g.out.Files, g.bytes = g.out.Files[:files], bytes
	}
}

// packed holds the names under which the files of one document are packed.
type packed struct {
	names aas.FileNames
	parts map[string]string
}

// find returns the part that a value means, empty when there is none, and the value that is right for it.
func (p packed) find(value string) (part, now string) {
	name, _ := p.names.Find(value)
	part = p.parts[name]
	if part == "" || part == name {
		return part, value
	}
	return part, aas.FileValue(part)
}

// pack adds the files of one document.
func (g *gatherer) pack(kind repository.Kind, id string) (packed, error) {
	moved := packed{parts: make(map[string]string)}
	names, err := g.s.FileNames(g.ctx, kind, id)
	if err != nil {
		return moved, err
	}
	moved.names = aas.NewFileNames(names)
	for _, name := range names {
		f, err := g.s.File(g.ctx, repository.FileKey{Kind: kind, ID: id, Name: name})
		if errors.Is(err, repository.ErrFileNotFound) {
			continue // it was removed after its name was read
		}
		if err != nil {
			return moved, err
		}
		part := aasx.File{Name: name, ContentType: f.ContentType, Data: f.Data}
		if !g.place(&part) {
			if g.bytes += int64(len(part.Data)); g.bytes > g.sel.MaxFileBytes {
				return moved, ErrSelectionTooLarge.Because("its files have more than %d bytes", g.sel.MaxFileBytes)
			}
			g.out.Files = append(g.out.Files, part)
			g.names[strings.ToLower(part.Name)] = &part
		}
		moved.parts[name] = part.Name
	}
	return moved, nil
}

// place returns a file a name that a package can have and no other file has, and reports whether the very
// same file is there.
func (g *gatherer) place(f *aasx.File) (there bool) {
	if aasx.CheckName(f.Name) != nil {
		f.Name = "/aasx/files/" + path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
		if aasx.CheckName(f.Name) != nil {
			f.Name = "/aasx/files/file"
		}
	}
	name := f.Name
	ext := path.Ext(name)
	for n := 2; ; n++ {
		other := g.names[strings.ToLower(f.Name)]
		if other == nil {
			return false
		}
		if other.ContentType == f.ContentType && bytes.Equal(other.Data, f.Data) {
			f.Name = other.Name
			return true
		}
		f.Name = strings.TrimSuffix(name, ext) + "-" + strconv.Itoa(n) + ext
	}
}

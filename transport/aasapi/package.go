package aasapi

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
)

// maxPackageBytes bounds the files of one package.
const maxPackageBytes = 256 << 20

// packer gathers the files of an environment for a package, in which names are unique regardless of case.
type packer struct {
	*call
	aasx.Package
	names map[string]bool
	total int64
}

// writePackage writes an AASX package of an environment with the files that are stored for it. Files
// of several documents that have one name get others, and so do the elements that name them.
func (c *call) writePackage(buf *bytes.Buffer, env *aas.Environment) error {
	p := packer{call: c, Package: aasx.Package{Environment: *env}, names: make(map[string]bool)}
	for _, s := range env.Shells {
		err := p.pack(aas.KindShell, s.ID, func(from, to string) {
			thumbnail := s.AssetInformation.DefaultThumbnail
			if thumbnail == nil || thumbnail.Path != from {
				return
			}
			thumbnail.Path = to
			if p.Thumbnail == "" {
				p.Thumbnail = to
			}
		})
		if err != nil {
			return err
		}
	}
	for _, s := range env.Submodels {
		err := p.pack(aas.KindSubmodel, s.ID, func(from, to string) {
			s.Walk(func(_ aas.Path, e aas.Element) bool {
				if f, ok := e.(*aas.File); ok && f.Value != nil && *f.Value == from {
					f.Value = &to
				}
				return true
			})
		})
		if err != nil {
			return err
		}
	}
	return aasx.Write(buf, &p.Package, aasx.Options{})
}

// pack adds the files of one document. named is told under which name each of them is packed.
func (p *packer) pack(kind aas.Kind, id string, named func(from, to string)) error {
	files, err := p.service.FileNames(p.ctx(), kind, id)
	if err != nil {
		return err
	}
	for _, name := range files {
		f, err := p.service.File(p.ctx(), aas.FileKey{Kind: kind, ID: id, Name: name})
		if err != nil {
			return err
		}
		if p.total += int64(len(f.Data)); p.total > maxPackageBytes {
			return errTooMuch
		}
		unique := name
		for n := 2; p.names[strings.ToLower(unique)]; n++ {
			ext := path.Ext(name)
			unique = strings.TrimSuffix(name, ext) + "-" + strconv.Itoa(n) + ext
		}
		p.names[strings.ToLower(unique)] = true
		p.Files = append(p.Files, aasx.File{Name: unique, ContentType: f.ContentType, Data: f.Data})
		named(name, unique)
	}
	return nil
}

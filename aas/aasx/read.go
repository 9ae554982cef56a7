package aasx

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"net/url"

	opc "github.com/aas-core-works/aas-package3-golang/v2"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/fault"
)

// Read reads a package of size bytes. Several environments in one package become one; a shell, submodel
// or concept description that two of them have must be the same in both. A thumbnail that the package
// names and does not have is none. What is no such package is aas.ErrInvalidRequest, what is above a limit
// is [ErrTooLarge], both say which part; an error of r is given as it is.
func Read(r io.ReaderAt, size int64, l Limits) (*Package, error) {
	l, err := l.withDefaults()
	if err != nil {
		return nil, err
	}
	if l.XML.MaxBytes == 0 || l.XML.MaxBytes > l.MaxPartBytes {
		l.XML.MaxBytes = l.MaxPartBytes
	}
	tracked := &reader{r: r}
	p, err := read(tracked, size, l)
	if tracked.err != nil {
		return nil, tracked.err
	}
	return p, err
}

func read(r *reader, size int64, l Limits) (*Package, error) {
	files, err := openArchive(r, size, l)
	if err != nil {
		return nil, err
	}
	opened, err := opc.NewPackaging().OpenReadFromReaderAt(r, size, opc.WithMaxOPCMetadataBytes(maxMetadataBytes))
	if err != nil {
		return nil, openFailure(err)
	}
	defer func() { _ = opened.Close() }() // holds nothing of its own
	return readParts(opened, files, l)
}

func openFailure(err error) error {
	switch {
	case errors.Is(err, opc.ErrReaderLimitExceeded):
		return ErrTooLarge.Because("its content types and relationships have more than %d bytes", maxMetadataBytes)
	case errors.Is(err, opc.ErrNoOriginPart):
		return bad("has no relationship to an AASX origin")
	}
	return aas.ErrInvalidRequest.Because("the content types or relationships of the AASX package cannot be read").Wrap(err)
}

// parts are the entries of an archive by what they are for.
type parts struct {
	specs       []*opc.Part // in the order of the origin's relationships
	entries     map[*opc.Part]*zip.File
	supplements []*zip.File // of Package.Files
}

// readParts reads nothing before all sizes are known to be within the limits.
func readParts(opened *opc.PackageRead, files []*zip.File, l Limits) (*Package, error) {
	p := &Package{}
	of, err := sortParts(opened, files, p, l)
	if err != nil {
		return nil, err
	}
	for i, f := range of.supplements {
		if p.Files[i].Data, err = readPart(f); err != nil {
			return nil, err
		}
	}
	m := merger{into: &p.Environment, seen: make(map[identity][]byte)}
	for _, s := range of.specs {
		if f := of.entries[s]; f != nil {
			delete(of.entries, s) // two relationships may lead to one part
			if err := m.add(f, l.XML, len(of.entries) == 0 && len(m.seen) == 0); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// sortParts returns the package its files, which have no content yet, and its thumbnail.
func sortParts(opened *opc.PackageRead, files []*zip.File, p *Package, l Limits) (of parts, err error) {
	if of.specs, err = opened.Specs(); err != nil {
		return of, err
	}
	isSpec := make(map[*opc.Part]bool, len(of.specs))
	for _, s := range of.specs {
		isSpec[s] = true
	}
	thumbnail, err := opened.Thumbnail()
	if err != nil {
		thumbnail = nil // its only error is that the part is not there
	}
	of.entries = make(map[*opc.Part]*zip.File, len(of.specs))
	for _, f := range files {
		part, err := opened.FindPart(&url.URL{Path: "/" + f.Name})
		if err != nil {
			return of, err
		}
		if isSpec[part] {
			of.entries[part] = f
			continue
		}
		name := decoded(f.Name)
		if part == nil || reserved(name) || isOrigin(name) {
			continue
		}
		if f.UncompressedSize64 > uint64(l.MaxFileBytes) {
			return of, ErrTooLarge.Because("part %q expands to %d bytes, for a file the limit is %d", f.Name, f.UncompressedSize64, l.MaxFileBytes)
		}
		of.supplements = append(of.supplements, f)
		p.Files = append(p.Files, File{Name: name, ContentType: part.ContentType})
		if part == thumbnail {
			p.Thumbnail = name
		}
	}
	if len(of.entries) == 0 {
		return of, bad("has no environment: its origin has no relationship to one")
	}
	return of, nil
}

func readEnvironment(f *zip.File, l aasxml.Limits) (*aas.Environment, error) {
	data, err := readPart(f)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var env *aas.Environment
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("<")) {
		env, err = aasxml.Decode(bytes.NewReader(data), l)
	} else {
		env, err = aas.Decode[aas.Environment](data)
	}
	if e, ok := fault.From(err); ok {
		return nil, e.On("part", "/"+f.Name)
	}
	return env, err
}

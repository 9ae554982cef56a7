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

func readParts(opened *opc.PackageRead, files []*zip.File, l Limits) (*Package, error) {
	specs, err := opened.Specs()
	if err != nil {
		return nil, err
	}
	isSpec := make(map[*opc.Part]bool, len(specs))
	for _, s := range specs {
		isSpec[s] = true
	}
	thumbnail, err := opened.Thumbnail()
	if err != nil {
		thumbnail = nil // its only error is that the part is not there
	}
	p := &Package{}
	entries := make(map[*opc.Part]*zip.File, len(specs))
	for _, f := range files {
		part, err := opened.FindPart(&url.URL{Path: "/" + f.Name})
		if err != nil {
			return nil, err
		}
		if isSpec[part] {
			entries[part] = f
			continue
		}
		name := decoded(f.Name)
		if part == nil || reserved(name) || isOrigin(name) {
			continue
		}
		data, err := readPart(f)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, File{Name: name, ContentType: part.ContentType, Data: data})
		if part == thumbnail {
			p.Thumbnail = name
		}
	}
	if len(entries) == 0 {
		return nil, bad("has no environment: its origin has no relationship to one")
	}
	m := merger{into: &p.Environment, seen: make(map[identity][]byte)}
	for _, s := range specs {
		if f := entries[s]; f != nil {
			delete(entries, s) // two relationships may lead to one part
			if err := m.add(f, l.XML, len(entries) == 0 && len(m.seen) == 0); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
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

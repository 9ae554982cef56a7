package aasx

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	opc "github.com/aas-core-works/aas-package3-golang/v2"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/fault"
)

// originName is what aas-package3 writes and everyone reads.
const originName = "/aasx/aasx-origin"

func isOrigin(name string) bool { return strings.EqualFold(name, originName) }

// Write writes a package with one environment, to which every file is supplementary. A name that a
// package cannot have, two equal names, and a thumbnail that is none of the files are
// aas.ErrInvalidRequest, found before anything is written. The output depends on p and o alone.
func Write(w io.Writer, p *Package, o Options) error {
	spec, err := encode(&p.Environment, o)
	if o.Format == "" && errors.Is(err, aasxml.ErrNoForm) {
		o.Format = JSON
		spec, err = encode(&p.Environment, o)
	}
	if err != nil {
		return err
	}
	name, err := checkFiles(p, "/aasx/environment.aas", "."+string(cmp.Or(o.Format, XML)))
	if err != nil {
		return err
	}
	writer, err := opc.NewPackaging().CreateWriter(w)
	if err != nil {
		return fmt.Errorf("write AASX: %w", err)
	}
	if err := writeParts(writer, p, name, spec, o); err != nil {
		_ = writer.Close() // the package is void already
		return fmt.Errorf("write AASX: %w", err)
	}
	if err := writer.Close(); err != nil {
		return fmt.Errorf("write AASX: %w", err)
	}
	return nil
}

func encode(env *aas.Environment, o Options) ([]byte, error) {
	switch o.Format {
	case "", XML:
		write := aasxml.Encode
		if o.V30 {
			write = aasxml.EncodeV30
		}
		var b bytes.Buffer
		err := write(&b, env)
		return b.Bytes(), err
	case JSON:
		if o.V30 {
			text, _ := aas.AppendVersion(nil, env, aas.V30)
			return text, nil
		}
		return aas.Append(nil, env), nil
	}
	return nil, fmt.Errorf("aasx: Options.Format: has to be %s or %s", XML, JSON)
}

// checkFiles returns the name for the environment: stem and extension, with a number where a file has it.
func checkFiles(p *Package, stem, extension string) (string, error) {
	names := make(map[string]bool, len(p.Files))
	for i, f := range p.Files {
		err := CheckName(f.Name)
		if err == nil && names[strings.ToLower(f.Name)] {
			err = errors.New("is a duplicate")
		}
		if err != nil {
			return "", aas.ErrInvalidRequest.Invalid(fault.Field{Field: fmt.Sprintf("files[%d].name", i), Message: err.Error()})
		}
		names[strings.ToLower(f.Name)] = true
	}
	if p.Thumbnail != "" && !names[strings.ToLower(p.Thumbnail)] {
		return "", aas.ErrInvalidRequest.Invalid(fault.Field{Field: "thumbnail", Message: "has to be the name of one of the files"})
	}
	name := stem + extension
	for i := 2; names[name]; i++ {
		name = fmt.Sprintf("%s%d%s", stem, i, extension)
	}
	return name, nil
}

func writeParts(w *opc.PackageWriter, p *Package, name string, spec []byte, o Options) error {
	contentType := "application/" + string(cmp.Or(o.Format, XML))
	main, err := w.PutPartFromStream(&url.URL{Path: name}, contentType, bytes.NewReader(spec))
	if err != nil {
		return err
	}
	if err := w.MakeSpec(main); err != nil {
		return err
	}
	for _, f := range p.Files {
		encoded := (&url.URL{Path: f.Name}).EscapedPath()
		part, err := w.PutPartFromStream(&url.URL{Path: encoded}, cmp.Or(f.ContentType, "application/octet-stream"), bytes.NewReader(f.Data))
		if err != nil {
			return err
		}
		if err := w.RelateSupplementaryToSpec(part, main); err != nil {
			return err
		}
		if strings.EqualFold(f.Name, p.Thumbnail) {
			if err := w.SetThumbnail(part); err != nil {
				return err
			}
		}
	}
	return nil
}

package exchange

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/aasxml"
)

// Format is the form of a document.
type Format string

// The formats.
const (
	AASX Format = "aasx"
	JSON Format = "json"
	XML  Format = "xml"
)

// FormatOf returns the format that the extension of a file's name stands for, and whether there is one.
func FormatOf(name string) (Format, bool) {
	f := Format(strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), "."))
	return f, f == AASX || f == JSON || f == XML
}

// Read reads a document. JSON and XML have no files. Its errors are [aas.ErrInvalidRequest] with what
// is wrong where, those of packages aasx and aasxml for what is above a limit, and those of r.
func Read(r io.ReaderAt, size int64, f Format, l aasx.Limits) (*aasx.Package, error) {
	switch f {
	case AASX:
		return aasx.Read(r, size, l)
	case XML:
		env, err := aasxml.Decode(io.NewSectionReader(r, 0, size), l.XML)
		if err != nil {
			return nil, err
		}
		return &aasx.Package{Environment: *env}, nil
	case JSON:
		if limit := max(maxJSON, l.MaxPartBytes); size > limit {
			return nil, aas.ErrInvalidRequest.Because("the document has %d bytes, the limit is %d", size, limit)
		}
		text, err := io.ReadAll(io.NewSectionReader(r, 0, size))
		if err != nil {
			return nil, err
		}
		env, err := aas.Decode[aas.Environment](bytes.TrimPrefix(text, []byte("\ufeff")))
		if err != nil {
			return nil, err
		}
		return &aasx.Package{Environment: *env}, nil
	}
	return nil, unknown(f)
}

func unknown(f Format) error { return fmt.Errorf("exchange: there is no format %q", string(f)) }

// maxJSON is the least limit of a JSON document; aasx.Limits.MaxPartBytes may be above it.
const maxJSON int64 = 256 << 20

// Write writes a document. JSON and XML leave the files of the package out. What the format has no way to
// say is [aas.ErrInvalidRequest]; other errors are those of w.
func Write(w io.Writer, p *aasx.Package, f Format) error {
	return write(w, p, f, aasx.Options{}, aasxml.Encode)
}

// WriteV30 is [Write] for readers of metamodel 3.0, for whom it omits or replaces what came later: see [aas.View]. It
// returns how much that is.
func WriteV30(w io.Writer, p *aasx.Package, f Format) (omitted int, err error) {
	text, omitted := aas.AppendVersion(nil, &p.Environment, aas.V30)
	if f == JSON {
		_, err := w.Write(append(text, '\n'))
		return omitted, err
	}
	return omitted, write(w, p, f, aasx.Options{V30: true}, aasxml.EncodeV30)
}

func write(w io.Writer, p *aasx.Package, f Format, o aasx.Options, encode func(io.Writer, *aas.Environment) error) error {
	switch f {
	case AASX:
		return aasx.Write(w, p, o)
	case XML:
		return encode(w, &p.Environment)
	case JSON:
		_, err := w.Write(append(aas.Append(nil, &p.Environment), '\n'))
		return err
	}
	return unknown(f)
}

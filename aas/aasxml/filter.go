package aasxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/internal/metamodel"
)

// Namespace is the namespace of metamodel 3.1, which is written unless the content is of another version.
const Namespace = "https://admin-shell.io/aas/3/1"

// The namespaces of the other versions that are read.
const (
	namespace30 = "https://admin-shell.io/aas/3/0"
	namespace32 = "https://admin-shell.io/aas/3/2"
)

// Per level of submodel elements there are at most so many XML elements (operation, inputVariables,
// operationVariable, value), and so many more above and below.
const (
	nestingPerLevel = 4
	nestingBeside   = 64
)

// tagsPerElement is far above what real elements take, about 20 with a semantic id and descriptions.
const tagsPerElement = 50

var elementTags = func() map[string]bool {
	tags := make(map[string]bool)
	for _, name := range metamodel.Elements {
		tags[name] = true
	}
	return tags
}()

// filter is the stream of tokens that are read: one root, one namespace, nothing but elements
// and text, within limits. It keeps its first error, since the reader may hide it.
type filter struct {
	source   *source
	decoder  *xml.Decoder
	limits   Limits
	depth    int // of XML elements
	nested   int // of submodel elements
	tags     int
	elements int
	done     bool // the root has ended
	err      error
}

func newFilter(r io.Reader, l Limits) *filter {
	s := &source{r: r, left: l.MaxBytes}
	return &filter{source: s, decoder: xml.NewDecoder(s), limits: l}
}

// Token returns the next token.
func (f *filter) Token() (xml.Token, error) {
	for f.err == nil {
		t, err := f.decoder.Token()
		switch {
		case f.source.err != nil:
			f.err = f.source.err
		case errors.Is(err, io.EOF):
			if !f.done {
				f.err = aas.ErrInvalidRequest.Because("the XML has no root")
				continue
			}
			return nil, io.EOF
		case err != nil:
			f.err = aas.ErrInvalidRequest.Because("the XML is not well-formed: %v", err)
		default:
			if t = f.pass(t); t != nil {
				return t, nil
			}
		}
	}
	return nil, f.err
}

// pass returns nil for a token that is omitted, and when it sets an error.
func (f *filter) pass(t xml.Token) xml.Token {
	switch t := t.(type) {
	case xml.StartElement:
		return f.start(t)
	case xml.EndElement:
		f.depth--
		f.done = f.depth == 0
		if elementTags[t.Name.Local] {
			f.nested--
		}
		return xml.EndElement{Name: rename(t.Name)}
	case xml.CharData:
		if f.depth > 0 {
			return t
		}
		if len(bytes.TrimSpace(bytes.TrimPrefix(t, []byte("\ufeff")))) > 0 {
			f.err = aas.ErrInvalidRequest.Because("the XML has text outside of its root")
		}
	case xml.Directive:
		f.err = aas.ErrInvalidRequest.Because("the XML has a document type declaration, which is not read")
	}
	return nil
}

func (f *filter) start(t xml.StartElement) xml.Token {
	name := rename(t.Name)
	if f.depth == 0 && (f.done || name != (xml.Name{Space: Namespace, Local: "environment"})) {
		f.err = aas.ErrInvalidRequest.Because("the root of the XML has to be one environment of the namespace %s or %s",
			Namespace, namespace30)
		return nil
	}
	f.depth++
	f.tags++
	if elementTags[name.Local] {
		f.nested++
		f.elements++
	}
	switch {
	case f.nested > f.limits.MaxDepth || f.depth > nestingPerLevel*f.limits.MaxDepth+nestingBeside:
		f.err = ErrTooLarge.Because("its elements nest deeper than %d", f.limits.MaxDepth)
	case f.elements > f.limits.MaxElements || f.tags/tagsPerElement > f.limits.MaxElements:
		f.err = ErrTooLarge.Because("it has more than %d elements", f.limits.MaxElements)
	}
	if f.err != nil {
		return nil
	}
	var own []xml.Attr
	for _, a := range t.Attr {
		if a.Name.Space == "" && a.Name.Local != "xmlns" {
			own = append(own, a)
		}
	}
	return xml.StartElement{Name: name, Attr: own}
}

func rename(n xml.Name) xml.Name {
	if n.Space == namespace30 || n.Space == namespace32 {
		n.Space = Namespace
	}
	return n
}

// source refuses what is above the limit, and keeps an error of the reader apart from one of the XML.
type source struct {
	r    io.Reader
	left int64
	err  error
}

// Read reads.
func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if int64(len(p)) > s.left+1 {
		p = p[:s.left+1]
	}
	n, err := s.r.Read(p)
	s.left -= int64(n)
	if s.left < 0 {
		err = ErrTooLarge.Because("it has more bytes than the limit")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

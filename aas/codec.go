package aas

import (
	"github.com/otkit/otkit/fault"
)

// Limits of what is decoded. What goes beyond is refused. In an environment those of one document hold for
// each shell, submodel and concept description, and it has at most MaxEntries of these.
const (
	MaxDepth    = 64        // elements within elements, and references within references
	MaxElements = 200_000   // submodel elements in one document
	MaxEntries  = 1_000_000 // entries of arrays in one document, of whatever kind
)

// MaxIDLength is how many characters an id has at most.
const MaxIDLength = 2048

// Decode reads the JSON form. The error is ErrInvalidRequest with the path of the member and the rule that it breaks.
// Members that the metamodel does not have are kept in the field Unknown, and refused in keys, texts in a language,
// value lists, level types and variables of operations, which have none. A duplicate member, a wrong type, an unknown
// word of an enumeration, a missing required member, invalid UTF-8 and data after the document are refused too. The id
// of a shell, submodel, concept description or descriptor may be missing, since it is often in the path of a request;
// Validate and the repository refuse that. An empty text where the metamodel wants at least one character is absent.
func Decode[T Model](data []byte) (*T, error) {
	v := new(T)
	if err := decode(data, func(d *decoder) { d.model(v) }); err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeList reads an array of what [Decode] reads.
func DecodeList[T Model](data []byte) ([]T, error) {
	var list []T
	err := decode(data, func(d *decoder) {
		for ok := d.openArray(); ok; ok = d.nextItem() {
			list = append(list, *new(T))
			d.model(&list[len(list)-1])
		}
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Append appends the canonical JSON form: of a shell, submodel or concept description it begins with
// the member modelType. Text is UTF-8, escaped only where JSON demands it.
func Append[T Model](dst []byte, v *T) []byte {
	e := encoder{buf: dst, view: View{Extent: WithBlobValue}}
	e.model(v)
	return e.buf
}

// AppendVersion appends what [Append] appends in the form for a version, and returns how much it omitted or replaced;
// see [View].
func AppendVersion[T Model](dst []byte, v *T, version Version) ([]byte, int) {
	omitted := 0
	e := encoder{buf: dst, view: View{Extent: WithBlobValue, Version: version, Omitted: &omitted}}
	e.model(v)
	return e.buf, omitted
}

// AppendList appends an array of what [Append] appends.
func AppendList[T Model](dst []byte, list []T) []byte {
	e := encoder{buf: append(dst, '['), view: View{Extent: WithBlobValue}}
	for i := range list {
		e.item()
		e.model(&list[i])
	}
	return append(e.buf, ']')
}

// DecodeElement reads a submodel element, as [Decode] does.
func DecodeElement(data []byte) (Element, error) {
	var element Element
	err := decode(data, func(d *decoder) { element = d.element() })
	if err != nil {
		return nil, err
	}
	return element, nil
}

// AppendElement appends the canonical JSON form of a submodel element, which begins with modelType.
func AppendElement(dst []byte, element Element) []byte {
	return AppendElementView(dst, element, View{Extent: WithBlobValue})
}

// AppendSubmodel appends the JSON form of a submodel in which properties have other values than their own: those of
// instead, where nil means none.
func AppendSubmodel(dst []byte, s *Submodel, instead map[*Property]*string) []byte {
	e := encoder{buf: dst, view: View{Extent: WithBlobValue}, held: instead}
	e.writeSubmodel(s)
	return e.buf
}

// replace sets v to what the document says; v is as before when it fails.
func replace[T Model](v *T, data []byte) error {
	decoded, err := Decode[T](data)
	if err == nil {
		*v = *decoded
	}
	return err
}

// replaceElement does it for an element, whose modelType may be missing since it is known.
func replaceElement(element Element, data []byte) error {
	decoded := newElement(element.ElementKind())
	err := decode(data, func(d *decoder) { d.fill(decoded) })
	if err == nil {
		assign(element, decoded)
	}
	return err
}

// Level returns how deep a serialization goes, after IDTA-01002.
type Level uint8

// The levels.
const (
	Deep Level = iota // all descendants
	Core              // the thing itself and its direct children
)

// Extent reports whether the bytes of blobs are part of a serialization.
type Extent uint8

// The extents.
const (
	WithoutBlobValue Extent = iota
	WithBlobValue
)

// Version is a version of the metamodel that a reader knows.
type Version uint8

// The versions.
const (
	Latest Version = iota // everything
	V30                   // what a reader of metamodel 3.0 can read
)

// View is the modifiers level and extent of a serialization, and the version of its reader. The zero value has their
// defaults.
//
// For [V30], what came later is omitted: members that the metamodel does not have, createdAt and updatedAt of
// administrations, data specifications other than IEC 61360, entries of value lists without a valueId, and
// relationships without both ends; in a list, the other entries go with these, so that no index changes. Other words
// stand in where 3.0 wants one: NotApplicable for the asset kinds Role and Batch, application/octet-stream for an
// absent contentType, and the entityType that the asset ids suggest.
type View struct {
	Level   Level
	Extent  Extent
	Version Version
	Omitted *int // if not nil, it is increased by what is omitted or replaced
}

// invalid returns the error for one member.
func invalid(field, message string) error {
	return ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: message})
}

// DecodeMetadata reads a submodel without its elements, which costs far less than to read them.
func DecodeMetadata(data []byte) (*Submodel, error) {
	s, d := new(Submodel), decoder{metadataOnly: true}
	if err := d.decode(data, func(d *decoder) { d.readSubmodel(s) }); err != nil {
		return nil, err
	}
	return s, nil
}

// AppendMetadata appends the $metadata of a submodel: all of it but its elements and what the metamodel does not have.
func AppendMetadata(dst []byte, s *Submodel, v View) []byte {
	e := encoder{buf: dst, view: v, metadata: true}
	e.writeSubmodel(s)
	return e.buf
}

// AppendElementMetadata appends the $metadata of an element: no value, no children, and of what is its
// own only what the schemas of IDTA-01002 name, such as valueType.
func AppendElementMetadata(dst []byte, element Element, v View) []byte {
	e := encoder{buf: dst, view: v, metadata: true}
	e.element(element, 0)
	return e.buf
}

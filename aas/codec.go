package aas

import "github.com/otkit/otkit/fault"

// Limits of what is decoded. What goes beyond is refused. In an environment those of one document hold for
// each shell, submodel and concept description, and it has at most MaxEntries of these.
const (
	MaxDepth    = 64        // elements within elements, and references within references
	MaxElements = 200_000   // submodel elements in one document
	MaxEntries  = 1_000_000 // entries of arrays in one document, of whatever kind
)

// Model is what [Decode] and [Append] take. Elements have [DecodeElement] and [AppendElement].
type Model interface {
	Shell | Submodel | ConceptDescription | ShellDescriptor | SubmodelDescriptor | Environment |
		Reference | AssetInformation | SpecificAssetID | Resource | Endpoint | Qualifier | Extension |
		Administration | LangString | EmbeddedDataSpecification
}

// Decode reads the JSON form. The error is ErrInvalidRequest with the path of the member and the rule
// that it breaks. Unknown members are ignored; a member that is there twice, a wrong type, an unknown
// word of an enumeration, a missing required member, invalid UTF-8 and data after the document are
// refused. The id of a shell, submodel, concept description or descriptor may be missing, since it is
// often in the path of a request; Check and the service refuse that. An empty text where the metamodel
// wants at least one character is read as absent.
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

// Level says how deep a serialisation goes, after IDTA-01002.
type Level uint8

// The levels.
const (
	Deep Level = iota // all descendants
	Core              // the thing itself and its direct children
)

// Extent says whether the bytes of blobs are part of a serialisation.
type Extent uint8

// The extents.
const (
	WithoutBlobValue Extent = iota
	WithBlobValue
)

// View is the modifiers level and extent of a serialisation. The zero value has their defaults.
type View struct {
	Level  Level
	Extent Extent
}

// invalid gives the error for one member.
func invalid(field, message string) error {
	return ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: message})
}

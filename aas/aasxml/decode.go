package aasxml

import (
	"encoding/xml"
	"errors"
	"io"

	core "github.com/aas-core-works/aas-core3.1-golang/types"
	"github.com/aas-core-works/aas-core3.1-golang/xmlization"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/internal/coremodel"
	"github.com/otkit/otkit/fault"
)

// Limits of a document that is read. 0 means the default.
type Limits struct {
	MaxBytes    int64 // default 64 MiB
	MaxDepth    int   // nesting of submodel elements; default, and at most, aas.MaxDepth
	MaxElements int   // submodel elements of all submodels together; default aas.MaxElements, which is the most that each may have
}

func (l Limits) withDefaults() (Limits, error) {
	if l.MaxBytes < 0 || l.MaxDepth < 0 || l.MaxElements < 0 {
		return l, errors.New("aasxml: Limits: has to be 0 or above")
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = 64 << 20
	}
	if l.MaxDepth == 0 {
		l.MaxDepth = aas.MaxDepth
	}
	if l.MaxElements == 0 {
		l.MaxElements = aas.MaxElements
	}
	return l, nil
}

// Decode reads an environment. Processing instructions, comments and attributes of other namespaces, such
// as xsi:schemaLocation, are passed over. A document type declaration is refused, so that there are no
// entities to expand. What aas.Decode refuses in JSON is refused here too. What is no such XML is aas.ErrInvalidRequest, what is above a limit is
// [ErrTooLarge]; an error of r is given as it is.
func Decode(r io.Reader, l Limits) (*aas.Environment, error) {
	l, err := l.withDefaults()
	if err != nil {
		return nil, err
	}
	f := newFilter(r, l)
	decoder := xml.NewTokenDecoder(f)
	instance, err := xmlization.Unmarshal(decoder)
	if err == nil {
		// What follows the root has to be well-formed too, and there is no second one.
		for err == nil {
			_, err = decoder.Token()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	if err != nil {
		return nil, invalid(err)
	}
	env, ok := instance.(core.IEnvironment)
	if !ok {
		return nil, aas.ErrInvalidRequest.Because("the root of the XML is no environment")
	}
	e := coremodel.Environment(env)
	// One set of rules for both forms: what is read here can be kept as JSON. aas-core takes more, such as
	// references without keys.
	if _, err := aas.Decode[aas.Environment](aas.Append(nil, e)); err != nil {
		return nil, err
	}
	return e, nil
}

func invalid(err error) error {
	var d *xmlization.DeserializationError
	if errors.As(err, &d) {
		return aas.ErrInvalidRequest.Invalid(fault.Field{Field: d.PathString(), Message: d.Message})
	}
	return aas.ErrInvalidRequest.Because("the XML is not well-formed: %v", err)
}

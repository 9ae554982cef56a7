package aasxml

import (
	"errors"
	"fmt"
	"io"

	"github.com/otkit/otkit/aas"
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

// Decode reads an environment. Processing instructions, comments and attributes of other namespaces, such as
// xsi:schemaLocation, are ignored. A document type declaration is refused, so that there are no entities to expand; so is
// what [aas.Decode] refuses in JSON. The error is aas.ErrInvalidRequest for what is not such XML, [ErrTooLarge] above a
// limit, or an error of r.
func Decode(r io.Reader, l Limits) (*aas.Environment, error) {
	l, err := l.withDefaults()
	if err != nil {
		return nil, err
	}
	f := newFilter(r, l)
	in := reader{f: f}
	if _, err := in.child(""); err != nil { // the root, which the filter has checked
		return nil, err
	}
	if err := in.object("environment"); err != nil {
		return nil, err
	}
	// What follows the root has to be well-formed too, and there is no second one.
	for err == nil {
		_, err = f.Token()
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	env, err := aas.Decode[aas.Environment](in.json)
	if err != nil {
		return nil, err
	}
	return env, identified(env)
}

// identified refuses documents without an id, which may be missing in JSON.
func identified(env *aas.Environment) error {
	missing := func(member string, i int) error {
		return aas.ErrInvalidRequest.Invalid(fault.Field{Field: fmt.Sprintf("%s[%d].id", member, i), Message: "is required"})
	}
	for i, v := range env.Shells {
		if v.ID == "" {
			return missing("assetAdministrationShells", i)
		}
	}
	for i, v := range env.Submodels {
		if v.ID == "" {
			return missing("submodels", i)
		}
	}
	for i, v := range env.ConceptDescriptions {
		if v.ID == "" {
			return missing("conceptDescriptions", i)
		}
	}
	return nil
}

package aasxml

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// Encode writes env in UTF-8 without indentation, in the namespace 3/1 or, where it has what came with metamodel 3.2, in
// 3/2. If XML has no form for a part of env, nothing is written and the error is [ErrNoForm] for members that the
// metamodel does not have, and aas.ErrInvalidRequest for characters such as most control characters and for what breaks
// the metamodel, with the place in Fields.
func Encode(w io.Writer, env *aas.Environment) error {
	namespace := Namespace
	if needsV32(env) {
		namespace = namespace32
	}
	return encode(w, env, namespace)
}

// EncodeV30 is [Encode] for readers of metamodel 3.0: it writes in the namespace 3/0 what [aas.V30] has a form for, and
// omits or replaces the rest; see [aas.View].
func EncodeV30(w io.Writer, env *aas.Environment) error {
	text, _ := aas.AppendVersion(nil, env, aas.V30)
	reduced, err := aas.Decode[aas.Environment](text)
	if err != nil {
		return err
	}
	return encode(w, reduced, namespace30)
}

func encode(w io.Writer, env *aas.Environment, namespace string) error {
	if fields := unwritable(env); len(fields) > 0 {
		return aas.ErrInvalidRequest.Invalid(fields...)
	}
	for i, m := range env.Submodels {
		if err := aas.ValidateTree(m); err != nil {
			return below(fmt.Sprintf("submodels[%d]", i), err)
		}
	}
	out := writer{json: aas.Append(nil, env)}
	if _, err := aas.Decode[aas.Environment](out.json); err != nil {
		return err
	}
	out.index()
	out.out = append(make([]byte, 0, len(out.json)), xml.Header+`<environment xmlns="`+namespace+`">`...)
	if err := out.object(0, "environment"); err != nil {
		return err
	}
	out.tag("</", "environment")
	if _, err := w.Write(out.out); err != nil {
		return fmt.Errorf("write XML: %w", err)
	}
	return nil
}

// below puts a path before the fields of an error.
func below(path string, err error) error {
	f, _ := fault.From(err)
	if f == nil || len(f.Fields) == 0 {
		return aas.ErrInvalidRequest.Invalid(fault.Field{Field: path, Message: err.Error()})
	}
	fields := make([]fault.Field, len(f.Fields))
	for i, field := range f.Fields {
		fields[i] = fault.Field{Field: path + "." + field.Field, Message: field.Message}
	}
	return aas.ErrInvalidRequest.Invalid(fields...)
}

// needsV32 reports whether env has what came with metamodel 3.2.
func needsV32(env *aas.Environment) bool {
	newer := func(i *aas.Identifiable) bool {
		return i.Administration != nil && (i.Administration.CreatedAt != "" || i.Administration.UpdatedAt != "")
	}
	for _, v := range env.Shells {
		if newer(&v.Identifiable) || v.AssetInformation.AssetKind == aas.Batch {
			return true
		}
	}
	for _, v := range env.Submodels {
		if v != nil && newer(&v.Identifiable) {
			return true
		}
	}
	for _, v := range env.ConceptDescriptions {
		if newer(&v.Identifiable) {
			return true
		}
	}
	return false
}

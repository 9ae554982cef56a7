package aasxml

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	"github.com/aas-core-works/aas-core3.1-golang/xmlization"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/internal/coremodel"
	"github.com/otkit/otkit/fault"
)

// Encode writes env in the namespace 3/1, in UTF-8 without indentation. What XML or its schema has no way
// to say, such as most control characters, is aas.ErrInvalidRequest with the place in Fields, found before
// anything is written where it is a character.
func Encode(w io.Writer, env *aas.Environment) error {
	if fields := unwritable(env); len(fields) > 0 {
		return aas.ErrInvalidRequest.Invalid(fields...)
	}
	instance, problems := coremodel.To(env)
	if len(problems) > 0 {
		return aas.ErrInvalidRequest.Invalid(problems...)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write XML: %w", err)
	}
	encoder := xml.NewEncoder(w)
	err := xmlization.Marshal(encoder, instance, true)
	if err == nil {
		err = encoder.Flush()
	}
	var s *xmlization.SerializationError
	if errors.As(err, &s) {
		return aas.ErrInvalidRequest.Invalid(fault.Field{Field: s.PathString(), Message: s.Message})
	}
	if err != nil {
		return fmt.Errorf("write XML: %w", err)
	}
	return nil
}

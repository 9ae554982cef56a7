package tags

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/otkit/otkit/fault"
)

// Names are the names of tags in the member tagNames of a JSON document.
type Names []string

// UnmarshalJSON reads an array of strings. Anything else, a null among the names included, is an
// [ErrInvalidRequest] that names the place.
func (n *Names) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return ErrInvalidRequest.Invalid(fault.Field{Field: "tagNames", Message: "must be an array of strings"}).Wrap(err)
	}
	if bytes.Contains(data, []byte("null")) { // which is decoded as an empty name
		var exact []*string
		if err := json.Unmarshal(data, &exact); err != nil {
			return err
		}
		for i, name := range exact {
			if name == nil {
				return ErrInvalidRequest.Invalid(fault.Field{Field: fmt.Sprintf("tagNames[%d]", i), Message: "must be a string"})
			}
		}
	}
	*n = names
	return nil
}

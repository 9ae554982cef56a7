package restapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// decodeError returns the error for a body that cannot be decoded. Unlike that of a wrong type, encoding/json's error of a time that is none
// does not say where it is, so that this looks for it.
func decodeError(r *http.Request, err error) error {
	bad, ok := errors.AsType[*time.ParseError](err)
	body, again := r.Body.(io.ReadSeeker)
	if !ok || !again {
		return problem.FromDecode(err)
	}
	if _, failed := body.Seek(0, io.SeekStart); failed != nil {
		return problem.FromDecode(err)
	}
	return badTime(json.NewDecoder(body), bad, err)
}

// badTime names the member that has a time that is none, if only one has its text.
func badTime(body *json.Decoder, bad *time.ParseError, err error) error {
	var found []string
	var v any
	if body.Decode(&v) == nil {
		findText(v, bad.Value, "", &found)
	}
	if len(found) != 1 || found[0] == "" {
		return problem.FromDecode(err)
	}
	return problem.ErrInvalidRequest.Invalid(fault.Field{Field: found[0],
		Message: fmt.Sprintf("%.40q is not a time in the form of RFC 3339, such as 2026-01-31T12:00:00Z", bad.Value)}).Wrap(err)
}

// findText adds the paths of the members of v whose value is a text.
func findText(v any, text, path string, found *[]string) {
	switch v := v.(type) {
	case string:
		if v == text {
			*found = append(*found, path)
		}
	case []any:
		for i := range v {
			findText(v[i], text, path+"["+strconv.Itoa(i)+"]", found)
		}
	case map[string]any:
		for name, of := range v {
			if path != "" {
				name = "." + name
			}
			findText(of, text, path+name, found)
		}
	}
}

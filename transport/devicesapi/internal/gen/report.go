package gen

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// UnmarshalJSON refuses members that the OpenAPI document does not describe: an emergency stop that is misspelt must not be lost.
func (r *DeviceReport) UnmarshalJSON(text []byte) error {
	type plain DeviceReport
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode((*plain)(r))
	if err == nil {
		return nil
	}
	if name, unknown := strings.CutPrefix(err.Error(), `json: unknown field "`); unknown {
		return problem.ErrInvalidRequest.Invalid(fault.Field{Field: strings.TrimSuffix(name, `"`), Message: "is not known"}).Wrap(err)
	}
	return err
}

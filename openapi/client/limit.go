package client

import "encoding/json"

// Limit is minValue or maxValue of a [TagConfig]. The zero value leaves the member out: the driver's limit applies.
type Limit struct {
	Value *float64 // nil for none
	None  bool     // sent and received as null: there is no limit, whatever the driver says
}

// LimitOf returns a limit of v.
func LimitOf(v float64) Limit { return Limit{Value: &v} }

// MarshalJSON implements json.Marshaler.
func (l Limit) MarshalJSON() ([]byte, error) { return json.Marshal(l.Value) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Limit) UnmarshalJSON(data []byte) error {
	*l = Limit{}
	if err := json.Unmarshal(data, &l.Value); err != nil {
		return err
	}
	l.None = l.Value == nil
	return nil
}

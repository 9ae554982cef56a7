package tagconfig

import (
	"bytes"
	"encoding/json"
)

// plain is Config without its methods.
type plain Config

// UnmarshalJSON implements json.Unmarshaler. A limit that is null is not the same as one that is absent.
func (c *Config) UnmarshalJSON(data []byte) error {
	c.NoMin, c.NoMax = false, false
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	return c.findNulls(data)
}

var null = []byte("null")

func (c *Config) findNulls(data []byte) error {
	if !bytes.Contains(data, null) {
		return nil
	}
	var limits struct {
		MinValue, MaxValue json.RawMessage
	}
	if err := json.Unmarshal(data, &limits); err != nil {
		return err
	}
	c.NoMin, c.NoMax = bytes.Equal(limits.MinValue, null), bytes.Equal(limits.MaxValue, null)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (c Config) MarshalJSON() ([]byte, error) {
	b, err := encodeJSON(plain(c))
	if err != nil {
		return nil, err
	}
	for _, limit := range []struct {
		none bool
		text string
	}{{c.NoMin, `,"minValue":null}`}, {c.NoMax, `,"maxValue":null}`}} {
		if limit.none {
			b = append(b[:len(b)-1], limit.text...)
		}
	}
	return b, nil
}

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

// Items is a list of items. Reading one from JSON names each bad member by its place, such as
// [3].minValue, up to 100 of them; the error is an ErrInvalid then.
type Items []Config

// UnmarshalJSON implements json.Unmarshaler.
func (l *Items) UnmarshalJSON(data []byte) error {
	var items []Config // what l had is not to shine through
	err := json.Unmarshal(data, &items)
	if err == nil {
		*l = items
		return nil
	}
	list, _, isArray := splitArray(data, 1)
	if !isArray {
		return err
	}
	var bad faults
	for i := range list {
		var c Config
		decodeItem(list[i], &c, func(member, format string, args ...any) { bad.add(indexPlace(i, member), format, args...) })
		if bad.full() {
			break
		}
	}
	return bad.err(ErrInvalid)
}

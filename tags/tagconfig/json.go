package tagconfig

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plain is Config without its methods.
type plain Config

// UnmarshalJSON implements json.Unmarshaler. A limit that is null is not the same as one that is absent.
func (c *Config) UnmarshalJSON(data []byte) error {
	var fast Config
	if fast.decodeFast(data, nil) {
		*c = fast
		return nil
	}
	c.NoMin, c.NoMax = false, false
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	return c.findNulls(data)
}

// Regular reports whether a JSON text is an item that has no other members than [Config] has. It may miss unusual forms.
func Regular(data []byte) bool {
	var c Config
	return c.decodeFast(data, nil)
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
func (c Config) MarshalJSON() ([]byte, error) { return c.AppendJSON(make([]byte, 0, 256)) }

// AppendJSON appends c as MarshalJSON writes it: on one line, with < > & as they are, since people read the file. It fails for
// numbers that are not finite.
func (c *Config) AppendJSON(dst []byte) ([]byte, error) {
	for _, m := range []struct{ name, value string }{
		{`{"tagId":`, c.TagID}, {`,"driverId":`, c.DriverID}, {`,"address":`, c.Address}, {`,"dataType":`, string(c.DataType)},
		{`,"unit":`, c.Unit}, {`,"description":`, c.Description},
	} {
		dst = appendString(append(dst, m.name...), m.value)
	}
	var err error
	number := func(name string, f *float64) {
		if f != nil && err == nil {
			dst, err = appendFloat(append(dst, name...), *f)
		}
	}
	number(`,"minValue":`, c.MinValue)
	number(`,"maxValue":`, c.MaxValue)
	number(`,"scalingFactor":`, c.ScalingFactor)
	number(`,"offset":`, c.Offset)
	if c.AccessMode != "" {
		dst = appendString(append(dst, `,"accessMode":`...), string(c.AccessMode))
	}
	if c.NativeType != "" {
		dst = appendString(append(dst, `,"nativeType":`...), c.NativeType)
	}
	if c.IntervalMs != 0 {
		dst = strconv.AppendInt(append(dst, `,"intervalMs":`...), c.IntervalMs, 10)
	}
	number(`,"deadband":`, c.Deadband)
	number(`,"deadbandPercent":`, c.DeadbandPercent)
	if c.ConfirmWrites != nil {
		dst = strconv.AppendBool(append(dst, `,"confirmWrites":`...), *c.ConfirmWrites)
	}
	if c.NoMin {
		dst = append(dst, `,"minValue":null`...)
	}
	if c.NoMax {
		dst = append(dst, `,"maxValue":null`...)
	}
	return append(dst, '}'), err
}

// appendString appends a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(dst, quoted("", s).raw...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// appendFloat appends a number as encoding/json does it.
func appendFloat(dst []byte, f float64) ([]byte, error) {
	if abs := max(f, -f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	text, err := json.Marshal(f)
	return append(dst, text...), err
}

// words keeps one copy of each text that many items have, up to a limit.
type words map[string]string

const maxWords = 4096

func (w words) of(text []byte) string {
	if s, ok := w[string(text)]; ok {
		return s
	}
	s := string(text)
	if w != nil && len(w) < maxWords && len(s) <= 64 {
		w[s] = s
	}
	return s
}

// decodeFast reads an item that is as AppendJSON writes it, with blanks anywhere, in a tenth of the time that encoding/json takes.
// If data is anything else, such as an item with unknown members, it returns false and c is undefined. w may be nil.
func (c *Config) decodeFast(data []byte, w words) bool {
	*c = Config{}
	in := fastJSON{data}
	if !in.take('{') {
		return false
	}
	for first := true; !in.take('}'); first = false {
		if !first && !in.take(',') {
			return false
		}
		name, escapes, ok := in.str()
		if !ok || escapes || !in.take(':') || !c.decodeMember(string(name), &in, w) {
			return false
		}
	}
	return len(in.rest) == 0
}

func (c *Config) decodeMember(name string, in *fastJSON, w words) bool {
	switch name {
	case "tagId":
		return in.text(&c.TagID, nil)
	case "driverId":
		return in.text(&c.DriverID, w)
	case "address":
		return in.text(&c.Address, nil)
	case "dataType":
		return in.text((*string)(&c.DataType), w)
	case "unit":
		return in.text(&c.Unit, w)
	case "description":
		return in.text(&c.Description, nil)
	case "minValue":
		return in.limit(&c.MinValue, &c.NoMin)
	case "maxValue":
		return in.limit(&c.MaxValue, &c.NoMax)
	case "scalingFactor":
		return in.number(&c.ScalingFactor)
	case "offset":
		return in.number(&c.Offset)
	case "accessMode":
		return in.text((*string)(&c.AccessMode), w)
	case "nativeType":
		return in.text(&c.NativeType, w)
	case "intervalMs":
		digits := in.digits()
		n, err := strconv.ParseInt(string(digits), 10, 64)
		c.IntervalMs = n
		return err == nil && json.Valid(digits)
	case "deadband":
		return in.number(&c.Deadband)
	case "deadbandPercent":
		return in.number(&c.DeadbandPercent)
	case "confirmWrites":
		confirm := in.word("true")
		c.ConfirmWrites = &confirm
		return confirm || in.word("false")
	}
	return false
}

// fastJSON reads the usual forms of JSON.
type fastJSON struct{ rest []byte }

// take skips blanks and the character c, if that is next.
func (j *fastJSON) take(c byte) bool {
	j.blanks()
	if len(j.rest) == 0 || j.rest[0] != c {
		return false
	}
	j.rest = j.rest[1:]
	j.blanks()
	return true
}

func (j *fastJSON) blanks() {
	for len(j.rest) > 0 && strings.IndexByte(" \t\r\n", j.rest[0]) >= 0 {
		j.rest = j.rest[1:]
	}
}

// str reads a string and reports whether it has escapes.
func (j *fastJSON) str() (text []byte, escapes, ok bool) {
	if len(j.rest) == 0 || j.rest[0] != '"' {
		return nil, false, false
	}
	ascii := true
	for i := 1; i < len(j.rest); i++ {
		switch c := j.rest[i]; {
		case c == '"':
			text = j.rest[1:i]
			j.rest = j.rest[i+1:]
			return text, escapes, ascii || utf8.Valid(text)
		case c < ' ':
			return nil, false, false
		case c == '\\':
			escapes = true
			i++
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false, false
}

func (j *fastJSON) text(to *string, w words) bool {
	whole := j.rest
	text, escapes, ok := j.str()
	if escapes && json.Unmarshal(whole[:len(text)+2], to) != nil {
		return false
	}
	if !escapes {
		*to = w.of(text)
	}
	j.blanks()
	return ok
}

func (j *fastJSON) word(word string) bool {
	if !bytes.HasPrefix(j.rest, []byte(word)) {
		return false
	}
	j.rest = j.rest[len(word):]
	return true
}

// digits reads what a number may consist of.
func (j *fastJSON) digits() []byte {
	n := 0
	for n < len(j.rest) && (j.rest[n] >= '0' && j.rest[n] <= '9' || strings.IndexByte("+-.eE", j.rest[n]) >= 0) {
		n++
	}
	digits := j.rest[:n]
	j.rest = j.rest[n:]
	return digits
}

func (j *fastJSON) number(to **float64) bool {
	digits := j.digits()
	f, err := strconv.ParseFloat(string(digits), 64)
	*to = &f
	return err == nil && json.Valid(digits)
}

func (j *fastJSON) limit(to **float64, none *bool) bool {
	if *none = j.word("null"); *none {
		*to = nil
		return true
	}
	return j.number(to)
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

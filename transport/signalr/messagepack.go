package signalr

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"
)

// In MessagePack a message is an array after its length, which is a number of 7 bits a byte, the lowest
// first.

// maxPrefix is the most bytes of a length.
const maxPrefix = 5

var errPacked = errors.New("not a message in MessagePack")

var noHeaders = map[string]string{}

// packed returns a message of values of simple types, all of which can be encoded.
func packed(values []any) []byte {
	var body bytes.Buffer
	encoder := msgpack.NewEncoder(&body)
	encoder.UseCompactInts(true)
	encoder.SetSortMapKeys(true)
	_ = encoder.Encode(values)
	return append(binary.AppendUvarint(make([]byte, 0, maxPrefix+body.Len()), uint64(body.Len())), body.Bytes()...)
}

// packInvocation returns the MessagePack form of an invocation in JSON, so that a client sees the same members and values in
// both.
func packInvocation(record []byte) []byte {
	var m invocation
	decodeNumbers(record[:len(record)-1], &m)
	return packed([]any{m.Type, noHeaders, nil, m.Target, withNumbers(m.Arguments), []any{}})
}

// decodeNumbers decodes what encoding/json has encoded, with numbers as they are written.
func decodeNumbers(data []byte, v any) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	_ = decoder.Decode(v)
}

// withNumbers replaces the numbers of a JSON value by integers where possible, else by floats.
func withNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // a number beyond the range is infinite, as for a reader of JSON
		return f
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withNumbers(v[name])
		}
	}
	return v
}

// parsePacked parses one message without its length, which must be well-formed to its end. Nesting costs
// nothing: other values are skipped one by one.
func parsePacked(record []byte) (message, error) {
	var m message
	if len(record) == 0 {
		return m, errPacked
	}
	rest, whole := pass(record, 1)
	if first := record[0]; !whole || len(rest) > 0 || first>>4 != 0x9 && first != 0xdc && first != 0xdd {
		return m, errPacked
	}
	size, members, _ := head(record)
	rest = record[size:]
	var kind *int
	if err := msgpack.Unmarshal(rest, &kind); err != nil || kind == nil {
		return m, errPacked
	}
	m.Type = kind
	if *kind != typeInvocation && *kind != typeStreamInvocation {
		return m, nil
	}
	if members < 5 { // type, headers, id, target and arguments
		return m, errPacked
	}
	rest, _ = pass(rest, 2)
	if err := msgpack.Unmarshal(rest, &m.InvocationID); err != nil {
		return m, err
	}
	rest, _ = pass(rest, 1)
	if err := msgpack.Unmarshal(rest, &m.Target); err != nil {
		return m, err
	}
	rest, _ = pass(rest, 1)
	m.Arguments, m.wrong = argumentsAsJSON(rest)
	return m, nil
}

// maxDepth is how deep values may be nested in arguments.
const maxDepth = 64

// argumentsAsJSON translates the first value of well-formed data.
func argumentsAsJSON(data []byte) (json.RawMessage, error) {
	if _, ok := passNested(data, maxDepth); !ok {
		return nil, errPacked
	}
	var args []any
	if err := msgpack.Unmarshal(data, &args); err != nil {
		return nil, err
	}
	return json.Marshal(args)
}

// passNested returns what follows the first value of well-formed data, unless that is nested deeper.
func passNested(data []byte, depth int) (rest []byte, ok bool) {
	size, inside, _ := head(data)
	rest = data[size:]
	for ok = depth > 0; ok && inside > 0; inside-- {
		rest, ok = passNested(rest, depth-1)
	}
	return rest, ok
}

// pass returns the bytes that follow a number of values.
func pass(data []byte, values uint64) (rest []byte, ok bool) {
	for values > 0 {
		size, inside, known := head(data)
		if !known || size > uint64(len(data)) {
			return nil, false
		}
		data = data[size:]
		if values += inside - 1; values > uint64(len(data)) { // each has at least one byte
			return nil, false
		}
	}
	return data, true
}

// head returns the bytes of the first value, of an array or a map those of its length alone, and how many
// values are inside of it.
func head(data []byte) (size, inside uint64, ok bool) {
	if len(data) == 0 {
		return 0, 0, false
	}
	first := data[0]
	switch {
	case first <= 0x7f || first >= 0xe0: // a small number
		return 1, 0, true
	case first <= 0x8f: // a small map
		return 1, 2 * uint64(first&0xf), true
	case first <= 0x9f: // a small array
		return 1, uint64(first & 0xf), true
	case first <= 0xbf: // a short string
		return 1 + uint64(first&0x1f), 0, true
	case first == 0xc1: // never used
		return 0, 0, false
	}
	f := forms[first-0xc0]
	if len(data) <= f.length {
		return 0, 0, false
	}
	var n uint64
	for _, b := range data[1 : 1+f.length] {
		n = n<<8 | uint64(b)
	}
	size = 1 + uint64(f.length) + uint64(f.fixed)
	if f.values > 0 {
		return size, n * uint64(f.values), true
	}
	return size + n, 0, true
}

// forms are the kinds of values from 0xc0 to 0xdf: the bytes that their length takes, the bytes that
// follow it in any case, and the values that each unit of the length stands for, or else it is bytes.
var forms = [32]struct{ length, fixed, values int }{
	0x04: {length: 1}, 0x05: {length: 2}, 0x06: {length: 4}, // bytes
	0x07: {length: 1, fixed: 1}, 0x08: {length: 2, fixed: 1}, 0x09: {length: 4, fixed: 1}, // extensions
	0x0a: {fixed: 4}, 0x0b: {fixed: 8}, // floats
	0x0c: {fixed: 1}, 0x0d: {fixed: 2}, 0x0e: {fixed: 4}, 0x0f: {fixed: 8}, // unsigned integers
	0x10: {fixed: 1}, 0x11: {fixed: 2}, 0x12: {fixed: 4}, 0x13: {fixed: 8}, // integers
	0x14: {fixed: 2}, 0x15: {fixed: 3}, 0x16: {fixed: 5}, 0x17: {fixed: 9}, 0x18: {fixed: 17}, // extensions of fixed sizes
	0x19: {length: 1}, 0x1a: {length: 2}, 0x1b: {length: 4}, // strings
	0x1c: {length: 2, values: 1}, 0x1d: {length: 4, values: 1}, // arrays
	0x1e: {length: 2, values: 2}, 0x1f: {length: 4, values: 2}, // maps
}

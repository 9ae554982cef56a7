package tagconfig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// model is the content of a model file.
type model struct {
	header
	entries []*entry // in the order of the file
	index   map[string]int
}

// header is what a model file has beside the items.
type header struct {
	name, version string
	extra         []member // members of the file that are not ours, in their order
}

func (h header) equal(o header) bool {
	return h.name == o.name && h.version == o.version && sameMembers(h.extra, o.extra)
}

// unknown returns the names of the members that are not ours.
func (h header) unknown() map[string]struct{} {
	found := map[string]struct{}{}
	for _, x := range h.extra {
		found[clip(x.name)] = struct{}{}
	}
	return found
}

// members returns all members, in the order in which they are written.
func (h header) members() []member {
	return append([]member{quoted("modelName", h.name), quoted("version", h.version)}, h.extra...)
}

// encode returns the header as a JSON object.
func (h header) encode() []byte {
	var b bytes.Buffer
	for i, x := range h.members() {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		fmt.Fprintf(&b, "%s:%s", quoted("", x.name).raw, x.raw)
	}
	b.WriteByte('}')
	return b.Bytes()
}

type member struct {
	name string
	raw  json.RawMessage
}

var utf8BOM = []byte("\xef\xbb\xbf")

// parseModel reads a model file. The error is an ErrModelFile that names line and member.
func parseModel(data []byte, maxItems int) (*model, error) {
	data = bytes.TrimPrefix(data, utf8BOM)
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, ErrModelFile.Because("%s", syntaxPlace(data, err))
	}
	m := &model{index: map[string]int{}}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, ErrModelFile.Because("line 1: must be an object with modelName, version and variables")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, ErrModelFile.Wrap(err)
		}
		var raw json.RawMessage
		start := dec.InputOffset()
		if err := dec.Decode(&raw); err != nil {
			return nil, ErrModelFile.Wrap(err)
		}
		line := 1 + bytes.Count(data[:start], []byte("\n"))
		if err := m.setMember(fmt.Sprint(name), raw, line, maxItems); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *model) setMember(name string, raw json.RawMessage, line, maxItems int) error {
	var text *string
	switch name {
	case "variables":
		return m.setItems(raw, line, maxItems)
	case "modelName":
		text = &m.name
	case "version":
		text = &m.version
	default:
		m.extra = append(slices.DeleteFunc(m.extra, func(x member) bool { return x.name == name }), member{name, raw})
		return nil
	}
	if err := json.Unmarshal(raw, text); err != nil {
		return ErrModelFile.Because("line %d: %s must be a string", line, name)
	}
	return nil
}

func (m *model) setItems(raw json.RawMessage, line, maxItems int) error {
	items, lines, ok := splitArray(raw, line)
	if !ok {
		return ErrModelFile.Because("line %d: variables must be an array", line)
	}
	if len(items) > maxItems {
		return ErrModelFile.Because("line %d: more than %d variables", line, maxItems)
	}
	var bad faults
	texts := words{}
	m.entries = make([]*entry, 0, len(items))
	m.index = make(map[string]int, len(items))
	for i, raw := range items {
		e := &entry{}
		add := func(member, format string, args ...any) {
			bad.add(fmt.Sprintf("line %d: variables[%d].%s", lines[i], i, member), format, args...)
		}
		if !decodeKnown(raw, &e.Config, texts) {
			e.Config = Config{}
			if !decodeItem(raw, &e.Config, add) {
				continue
			}
			e.extra = unknownMembers(raw)
		}
		e.normalize()
		e.validate(add)
		m.set(e)
	}
	if err := bad.err(ErrModelFile); err != nil {
		return err
	}
	return nil
}

// set puts an entry in its place: where its tag is, or at the end.
func (m *model) set(e *entry) {
	if at, ok := m.index[e.TagID]; ok {
		m.entries[at] = e
		return
	}
	m.index[e.TagID] = len(m.entries)
	m.entries = append(m.entries, e)
}

// encode writes the text of the model file, one item a line.
func (v *view) encode(to io.Writer) error {
	w := bufio.NewWriterSize(to, 64<<10)
	_, _ = w.WriteString("{\n") // what goes wrong stays in w
	for _, x := range v.header.members() {
		fmt.Fprintf(w, "  %s: %s,\n", quoted("", x.name).raw, x.raw)
	}
	_, _ = w.WriteString("  \"variables\": [")
	var err error
	first := true
	var line []byte
	v.order.Scan(func(_ int64, e *entry) bool {
		if line, err = e.appendTo(line[:0]); err != nil {
			return false
		}
		if !first {
			_ = w.WriteByte(',')
		}
		first = false
		_, _ = w.WriteString("\n    ")
		_, err = w.Write(line)
		return err == nil
	})
	if err != nil {
		return err
	}
	if !first {
		_, _ = w.WriteString("\n  ")
	}
	_, _ = w.WriteString("]\n}\n")
	return w.Flush()
}

// appendTo appends the item as it is written, without indent.
func (e *entry) appendTo(to []byte) ([]byte, error) {
	to, err := e.AppendJSON(to)
	if err != nil || len(e.extra) == 0 {
		return to, err
	}
	buf := bytes.NewBuffer(to[:len(to)-1])
	for _, x := range e.extra {
		fmt.Fprintf(buf, ",%s:", quoted("", x.name).raw)
		if err := json.Compact(buf, x.raw); err != nil {
			return nil, err
		}
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// parseEntry reads an item as appendTo writes it.
func parseEntry(raw []byte, texts words) (*entry, error) {
	e := &entry{}
	if decodeKnown(raw, &e.Config, texts) {
		return e, nil
	}
	e.Config = Config{}
	if err := json.Unmarshal(raw, &e.Config); err != nil {
		return nil, err
	}
	e.extra = unknownMembers(raw)
	return e, nil
}

// encodeJSON is json.Marshal that leaves < > & as they are: people read the file.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func quoted(name, text string) member {
	raw, err := encodeJSON(text)
	if err != nil { // a string always encodes
		raw = []byte(`""`)
	}
	return member{name, raw}
}

// splitArray returns the items of a JSON array and the line that each begins in; false when raw is no
// array. raw is valid JSON that begins in the given line.
func splitArray(raw json.RawMessage, line int) (items []json.RawMessage, lines []int, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		return nil, nil, false
	}
	seen := int64(0)
	for dec.More() {
		var item json.RawMessage
		if err := dec.Decode(&item); err != nil {
			return nil, nil, false
		}
		start := dec.InputOffset() - int64(len(item))
		line += bytes.Count(raw[seen:start], []byte("\n"))
		seen = start
		items, lines = append(items, item), append(lines, line)
	}
	return items, lines, true
}

// decodeItem reads one item and reports whether that worked.
func decodeItem(raw json.RawMessage, c *Config, add func(member, format string, args ...any)) bool {
	err := json.Unmarshal(raw, c)
	if err == nil {
		return true
	}
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		add("tagId", "the item must be an object")
		return false
	}
	kind := "a string"
	switch wrong.Type.Kind() {
	case reflect.Float64:
		kind = "a finite number"
	case reflect.Int64:
		kind = "a whole number"
	case reflect.Bool:
		kind = "true or false"
	}
	add(wrong.Field, "must be %s", kind)
	return false
}

// decodeKnown reads an item that has no members but ours, which is the usual one, in one pass.
func decodeKnown(raw json.RawMessage, c *Config, texts words) bool {
	if c.decodeFast(raw, texts) {
		return true
	}
	*c = Config{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(c)) == nil && c.findNulls(raw) == nil
}

// unknownMembers returns the members of an item that Config does not have, by name.
func unknownMembers(raw json.RawMessage) []member {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	var extra []member
	for name, value := range all {
		if columnAt(name) < 0 {
			var compact bytes.Buffer // as it is written
			if json.Compact(&compact, value) == nil {
				value = compact.Bytes()
			}
			extra = append(extra, member{name, value})
		}
	}
	slices.SortFunc(extra, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return extra
}

// syntaxPlace turns a syntax error into "line 3, character 7: ...".
func syntaxPlace(data []byte, err error) string {
	var syntax *json.SyntaxError
	if len(bytes.TrimSpace(data)) == 0 {
		return "the file is empty"
	}
	if !errors.As(err, &syntax) {
		return err.Error()
	}
	before := data[:min(max(syntax.Offset-1, 0), int64(len(data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1
	return fmt.Sprintf("line %d, character %d: %s", line, column, syntax.Error())
}

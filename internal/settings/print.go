package settings

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Print writes settings as YAML in the order of the struct, with secrets masked. A comment has the source of a value, if
// it is in origins, which Load returns; they may be nil. The text can be loaded again unless secrets are masked in it.
func Print[T any](w io.Writer, v T, origins Origins) error {
	root, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	node, err := printer{origins}.section(root, reflect.ValueOf(v), nil)
	if err != nil {
		return err
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(node); err != nil {
		return err
	}
	return e.Close()
}

// Values returns settings as a tree of plain values by their keys, with secrets masked.
func Values[T any](v T) (map[string]any, error) {
	root, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	node, err := printer{}.section(root, reflect.ValueOf(v), nil)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, node.Decode(&out)
}

type printer struct{ origins Origins }

func (p printer) section(s *setting, v reflect.Value, path []string) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range s.members {
		at := append(path[:len(path):len(path)], m.name)
		value, err := p.member(m, v.Field(m.field), at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", display(at), err)
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: m.name}
		if origin := p.origins[flatKey(at)]; origin != "" {
			commented := value
			if value.Kind == yaml.MappingNode && value.Style != yaml.FlowStyle {
				commented = key
			}
			commented.LineComment = strings.Join(strings.Fields(origin), " ")
		}
		out.Content = append(out.Content, key, value)
	}
	return out, nil
}

func (p printer) member(m *setting, v reflect.Value, path []string) (*yaml.Node, error) {
	switch m.kind {
	case section:
		return p.section(m, v, path)
	case sections:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			item, err := p.section(m, v.Index(i), append(path[:len(path):len(path)], strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, item)
		}
		return out, nil
	case list:
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for i := range v.Len() {
			item, err := plain(m, v.Index(i))
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, item)
		}
		return out, nil
	case freeForm:
		return freeNode(v.Bytes())
	default:
		return plain(m, v)
	}
}

// plain returns the node of a plain value, masked if its setting is secret.
func plain(m *setting, v reflect.Value) (*yaml.Node, error) {
	out := new(yaml.Node)
	switch {
	case v.Type() == durationType:
		return out, out.Encode(durationText(time.Duration(v.Int())))
	case v.Kind() == reflect.String:
		return out, out.Encode(mask(m.secret, v.String()))
	}
	return out, out.Encode(v.Interface())
}

func freeNode(raw json.RawMessage) (*yaml.Node, error) {
	if len(raw) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}, nil
	}
	value, err := parseJSON(raw)
	if err != nil {
		return nil, err
	}
	out := new(yaml.Node)
	if err := out.Encode(yamlable(maskFree(value))); err != nil {
		return nil, err
	}
	if len(out.Content) == 0 {
		out.Style = yaml.FlowStyle
	}
	return out, nil
}

// yamlable replaces numbers of JSON, which the YAML library takes for strings.
func yamlable(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = yamlable(member)
		}
	case []any:
		for i, item := range v {
			v[i] = yamlable(item)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if n, err := v.Float64(); err == nil {
			return n
		}
	}
	return value
}

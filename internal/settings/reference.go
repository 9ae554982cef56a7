package settings

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// Reference writes tables in Markdown, one for each section: the key, the environment variable, the values, the default and the
// meaning of each setting. The defaults are those given.
func Reference[T any](w io.Writer, defaults T) error {
	root, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	out := new(strings.Builder)
	v := reflect.ValueOf(defaults)
	for i, m := range root.members {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "## %s\n\n", m.name)
		if m.doc != "" && !m.isLeaf() {
			fmt.Fprintf(out, "%s\n\n", sentence(m.doc))
		}
		fmt.Fprint(out, "| Key | Environment variable | Values | Default | Meaning |\n|---|---|---|---|---|\n")
		path := []string{m.name}
		switch m.kind {
		case section:
			rows(out, m, v.Field(m.field), path)
		case sections:
			rows(out, m, m.item(), append(path, "0"))
		default:
			row(out, m, v.Field(m.field), path)
		}
	}
	_, err = io.WriteString(w, out.String())
	return err
}

func rows(out *strings.Builder, s *setting, v reflect.Value, path []string) {
	for _, m := range s.members {
		at := append(path[:len(path):len(path)], m.name)
		switch m.kind {
		case section:
			rows(out, m, v.Field(m.field), at)
		case sections:
			rows(out, m, m.item(), append(at, "0"))
		default:
			row(out, m, v.Field(m.field), at)
		}
	}
}

func row(out *strings.Builder, m *setting, v reflect.Value, path []string) {
	key := strings.ReplaceAll(display(path), "[0]", "[]")
	names := ""
	if len(path) > 1 {
		names = "`" + variable(path) + "`"
	}
	if m.env != "" {
		names = strings.TrimPrefix(names+", `"+m.env+"`", ", ")
	}
	values := typeName(m)
	switch {
	case m.rule.required:
		values += ", required"
	case m.rule.text != "":
		values += ": " + m.rule.text
	}
	fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s |\n", key, names, values, defaultText(m, v), sentence(m.doc))
}

// sentence returns a doc tag as a cell of a table.
func sentence(doc string) string { return strings.ReplaceAll(doc, "|", `\|`) }

func typeName(m *setting) string {
	name := func(t reflect.Type) string {
		switch k := t.Kind(); {
		case t == durationType:
			return "duration"
		case k == reflect.String:
			return "text"
		case k == reflect.Bool:
			return "true or false"
		case k == reflect.Float32 || k == reflect.Float64:
			return "number"
		}
		return "integer"
	}
	switch m.kind {
	case list:
		return "list of " + name(m.typ.Elem())
	case freeForm:
		return "object"
	}
	return name(m.typ)
}

func defaultText(m *setting, v reflect.Value) string {
	text := ""
	switch {
	case m.kind == freeForm:
		text = string(v.Bytes())
	case m.kind == list:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = mask(m.secret, fmt.Sprint(v.Index(i).Interface()))
		}
		text = strings.Join(items, ",")
	case v.Type() == durationType:
		text = durationText(time.Duration(v.Int()))
	case v.Kind() == reflect.String:
		text = mask(m.secret, v.String())
	default:
		text = fmt.Sprint(v.Interface())
	}
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

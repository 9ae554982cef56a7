package restapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/suggest"
	"github.com/otkit/otkit/transport/problem"
)

// maxUnknown is how many unknown members an error names.
const maxUnknown = 20

// DecodeStrict decodes the body of a request, and refuses members that v does not have: one may be a slip. also are the names of members
// that answers have in addition, so that the body may be one.
func DecodeStrict(r *http.Request, v any, also ...string) error { return DecodeAs(r, v, v, also...) }

// DecodeAs is DecodeStrict where the members are those of the type of shape.
func DecodeAs(r *http.Request, v, shape any, also ...string) error {
	var raw json.RawMessage
	err := json.NewDecoder(r.Body).Decode(&raw)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		if bad, ok := errors.AsType[*time.ParseError](err); ok {
			return badTime(json.NewDecoder(bytes.NewReader(raw)), bad, err)
		}
		return problem.FromDecode(err)
	}
	if bad := UnknownMembers(raw, shape, also...); len(bad) > 0 {
		return problem.ErrInvalidRequest.Invalid(bad...)
	}
	return nil
}

// UnknownMembers returns the members of a JSON text that the type of shape does not have, at most 20, with the member that may be meant.
func UnknownMembers(raw []byte, shape any, also ...string) (bad []fault.Field) {
	collectUnknown(reflect.TypeOf(shape), raw, "", also, &bad)
	return bad
}

func collectUnknown(t reflect.Type, raw []byte, path string, also []string, bad *[]fault.Field) {
	switch t.Kind() {
	case reflect.Pointer:
		collectUnknown(t.Elem(), raw, path, also, bad)
	case reflect.Slice:
		var list []json.RawMessage
		if k := t.Elem().Kind(); k != reflect.Struct && k != reflect.Pointer || json.Unmarshal(raw, &list) != nil {
			return
		}
		for i, one := range list {
			collectUnknown(t.Elem(), one, fmt.Sprintf("%s[%d]", path, i), nil, bad)
		}
	case reflect.Struct:
		known := members(t)
		var object map[string]json.RawMessage
		if len(known) == 0 || json.Unmarshal(raw, &object) != nil {
			return
		}
		names := make([]string, 0, len(known))
		for name := range known {
			names = append(names, name)
		}
		slices.Sort(names)
		keys := make([]string, 0, len(object))
		for key := range object {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			same := func(name string) bool { return strings.EqualFold(name, key) }
			at := strings.TrimPrefix(path+"."+key, ".")
			if i := slices.IndexFunc(names, same); i >= 0 {
				collectUnknown(known[names[i]], object[key], at, nil, bad)
			} else if !slices.ContainsFunc(also, same) && len(*bad) < maxUnknown {
				*bad = append(*bad, fault.Field{Field: at, Message: unknownMember(key, names)})
			}
		}
	}
}

func unknownMember(key string, names []string) string {
	const rule = "is not a known member"
	if near, ok := suggest.Nearest(key, names); ok {
		return rule + "; did you mean " + near + "?"
	}
	return rule
}

// members returns the types of the members that encoding/json reads into a struct, by name.
func members(t reflect.Type) map[string]reflect.Type {
	all := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		all[name] = f.Type
	}
	return all
}

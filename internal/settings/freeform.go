package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

var errObject = errors.New("must be an object")

// parseObject reads the JSON text of an object.
func parseObject(text string) (json.RawMessage, error) {
	value, err := parseJSON([]byte(text))
	if err != nil {
		return nil, errors.New("must be an object in JSON")
	}
	return encodeObject(value)
}

// encodeObject turns what a file holds into the JSON of an object.
func encodeObject(value any) (json.RawMessage, error) {
	if raw, ok := value.(json.RawMessage); ok { // a flag
		return parseObject(string(raw))
	}
	members, err := membersOf(value)
	if err != nil {
		return nil, err
	}
	plain, err := jsonable(members)
	if err != nil {
		return nil, err
	}
	return encodeJSON(plain)
}

// encodeJSON returns the JSON of an object, nil for an empty one.
func encodeJSON(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if string(text) == "{}" {
		return nil, err
	}
	return text, err
}

// membersOf returns the members of an object. In YAML, keys need not be strings.
func membersOf(value any) (map[string]any, error) {
	switch m := value.(type) {
	case map[string]any:
		return m, nil
	case map[any]any:
		members := make(map[string]any, len(m))
		for key, v := range m {
			switch key.(type) {
			case string, bool, int, int64, uint64:
			default:
				return nil, errors.New("has a key that is not a plain word")
			}
			name := fmt.Sprint(key)
			if _, twice := members[name]; twice {
				return nil, errors.New("has the key " + shown(name) + " twice")
			}
			members[name] = v
		}
		return members, nil
	}
	return nil, fmt.Errorf("%w, not %s", errObject, described(value, "true"))
}

// jsonable copies a value of YAML as one that JSON can express.
func jsonable(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any, map[any]any:
		members, err := membersOf(v)
		if err != nil {
			return nil, err
		}
		out := make(map[string]any, len(members))
		for name, member := range members {
			if out[name], err = jsonable(member); err != nil {
				return nil, fmt.Errorf("%s: %w", shown(name), err)
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = jsonable(item); err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
		}
		return out, nil
	case time.Time:
		return nil, errors.New("is a date: put it in quotes")
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("must be a finite number")
		}
	}
	return value, nil
}

// replaceIn sets the member of a free-form object that a path of names and indices leads to. Members
// are found without regard to case; what does not exist is made.
func replaceIn(raw json.RawMessage, path []string, text string) (json.RawMessage, error) {
	var object any = map[string]any{}
	if len(raw) > 0 {
		var err error
		if object, err = parseJSON(raw); err != nil {
			return raw, err
		}
	}
	object, err := replaced(object, path, text)
	if err != nil {
		return raw, err
	}
	return encodeJSON(object)
}

func replaced(value any, path []string, text string) (any, error) {
	if len(path) == 0 {
		return valueOf(text, value), nil
	}
	name := path[0]
	if value == nil { // made now: a list for its first item, else an object
		if value = any(map[string]any{}); isIndex(name) && index(name) == 0 {
			value = []any{}
		}
	}
	var err error
	switch v := value.(type) {
	case map[string]any:
		key := keyIn(v, name)
		v[key], err = replaced(v[key], path[1:], text)
		return v, err
	case []any:
		if !isIndex(name) {
			return nil, errors.New("needs the number of a list item in place of " + shown(name))
		}
		i := index(name)
		if i > len(v) {
			return nil, noSuchItem(len(v))
		}
		if i == len(v) {
			v = append(v, nil)
		}
		v[i], err = replaced(v[i], path[1:], text)
		return v, err
	}
	return nil, fmt.Errorf("has no member %s: what it should be in is %s", shown(name), described(value, "true"))
}

// keyIn returns the key of an object that a name means: the very name, else the first one that differs
// in case only, else the name as a new key.
func keyIn(object map[string]any, name string) string {
	if _, ok := object[name]; ok {
		return name
	}
	found := name
	for key := range object {
		if strings.EqualFold(key, name) && (found == name || key < found) {
			found = key
		}
	}
	return found
}

// valueOf reads text that is JSON as such and any other as a string. What was a string stays one.
func valueOf(text string, before any) any {
	value, err := parseJSON([]byte(text))
	if err != nil {
		return text
	}
	if _, wasString := before.(string); wasString {
		if _, quoted := value.(string); !quoted {
			return text
		}
	}
	return value
}

func noSuchItem(length int) error {
	return fmt.Errorf("is beyond the list: its next item has the number %d", length)
}

package search

import (
	"encoding/json"
	"slices"
)

// WriteLabels returns the text for a map: JSON, or nothing for an empty one.
func WriteLabels(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "", nil
	}
	text, err := AppendLabels(make([]byte, 0, 48*len(labels)), labels)
	return string(text), err
}

// AppendLabels appends the JSON of a map, in order of the names. It takes a quarter of the time of json.Marshal, and
// each alert has three maps.
func AppendLabels(text []byte, labels map[string]string) (_ []byte, err error) {
	var own [16]string
	names := own[:0]
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		text = append(text, "{,"[min(i, 1)])
		if text, err = appendText(text, name); err != nil {
			return nil, err
		}
		text = append(text, ':')
		if text, err = appendText(text, labels[name]); err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

// appendText appends the JSON of a text. One without anything to escape is copied.
func appendText(text []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			return append(text, quoted...), err
		}
	}
	text = append(text, '"')
	text = append(text, s...)
	return append(text, '"'), nil
}

// ReadLabels reads what [WriteLabels] has written.
func ReadLabels(text string) (labels map[string]string, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &labels)
	}
	return labels, err
}

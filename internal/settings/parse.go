package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/otkit/otkit/internal/runes"
)

// parseFile reads the text of a settings file: JSON when the name ends in .json, else YAML. An empty
// file is an empty object.
func parseFile(name string, text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return nil, errors.New("is not valid UTF-8")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	if strings.EqualFold(filepath.Ext(name), ".json") {
		return parseJSON(text)
	}
	return parseYAML(text)
}

// quotedValue is how the YAML library shows a value in its errors. It may be a secret.
var quotedValue = regexp.MustCompile("`[^`]*`")

func parseYAML(text []byte) (any, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var value any
	err := d.Decode(&value)
	if err == nil {
		var next any
		switch err = d.Decode(&next); {
		case errors.Is(err, io.EOF):
			err = nil
		case err == nil:
			return nil, errors.New("must hold one YAML document, not several")
		}
	}
	if errors.Is(err, io.EOF) || err == nil && value == nil {
		return map[string]any{}, nil
	}
	if err != nil {
		message := strings.TrimPrefix(err.Error(), "yaml: ")
		message = strings.TrimPrefix(message, "unmarshal errors:\n")
		message = quotedValue.ReplaceAllString(message, "a value")
		return nil, errors.New("is not valid YAML: " + strings.Join(strings.Fields(message), " "))
	}
	return value, nil
}

// parseJSON reads one JSON value. Unlike encoding/json it refuses members given twice, and numbers
// stay as they are written.
func parseJSON(text []byte) (any, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		var syntax *json.SyntaxError
		if !errors.As(err, &syntax) {
			return nil, err
		}
		before := text[:max(0, min(int(syntax.Offset)-1, len(text)))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return nil, fmt.Errorf("is not JSON at line %d, column %d", line, column)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return nextJSON(d, nil)
}

// nextJSON reads the next value of a text that is known to be JSON, and thereby not nested beyond
// what encoding/json allows.
func nextJSON(d *json.Decoder, path []string) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := make(map[string]any)
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			at := append(path[:len(path):len(path)], shown(name))
			if _, twice := object[name]; twice {
				return nil, fmt.Errorf("has %s twice", display(at))
			}
			if object[name], err = nextJSON(d, at); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return object, err
	case json.Delim('['):
		items := []any{}
		for d.More() {
			item, err := nextJSON(d, append(path[:len(path):len(path)], strconv.Itoa(len(items))))
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err = d.Token()
		return items, err
	}
	if number, ok := token.(json.Number); ok {
		if _, err := number.Float64(); err != nil {
			return nil, fmt.Errorf("has a number out of range at %s", display(path))
		}
	}
	return token, nil
}

// shown makes a name fit for one line of an error: names of files and variables can hold anything.
func shown(name string) string {
	name = cut(name)
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if name == "" || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// cut shortens what is too long for an error.
func cut(s string) string { return runes.Shorten(s, 80) }

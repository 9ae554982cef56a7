package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// comparison gathers what the newer document breaks.
type comparison struct {
	breaks []string
	seen   map[[2]*openapi3.Schema]bool // schemas may refer to themselves
}

func compare(older, newer *openapi3.T) []string {
	c := &comparison{seen: make(map[[2]*openapi3.Schema]bool)}
	for _, path := range sortedKeys(older.Paths.Map()) {
		item := newer.Paths.Value(path)
		for method, was := range older.Paths.Value(path).Operations() {
			at := method + " " + path
			if item == nil || item.GetOperation(method) == nil {
				c.add(at, "is gone")
				continue
			}
			c.operation(at, was, item.GetOperation(method))
		}
	}
	slices.Sort(c.breaks)
	return c.breaks
}

func (c *comparison) add(at, format string, args ...any) {
	c.breaks = append(c.breaks, at+": "+fmt.Sprintf(format, args...))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (c *comparison) operation(at string, was, is *openapi3.Operation) {
	if was.OperationID != is.OperationID {
		c.add(at, "operationId %s has become %s", was.OperationID, is.OperationID)
	}
	for _, p := range was.Parameters {
		now := is.Parameters.GetByInAndName(p.Value.In, p.Value.Name)
		if now == nil {
			c.add(at, "parameter %s is gone", p.Value.Name)
			continue
		}
		if now.Required && !p.Value.Required {
			c.add(at, "parameter %s has become required", p.Value.Name)
		}
		c.schema(at+" parameter "+p.Value.Name, p.Value.Schema, now.Schema, true)
	}
	for _, p := range is.Parameters {
		if p.Value.Required && was.Parameters.GetByInAndName(p.Value.In, p.Value.Name) == nil {
			c.add(at, "parameter %s is new and required", p.Value.Name)
		}
	}
	if was.RequestBody != nil {
		if is.RequestBody == nil {
			c.add(at, "the request body is gone")
		} else {
			c.content(at+" request", was.RequestBody.Value.Content, is.RequestBody.Value.Content, true)
		}
	}
	for status, r := range was.Responses.Map() {
		now := is.Responses.Value(status)
		if now == nil {
			c.add(at, "response %s is gone", status)
			continue
		}
		c.content(at+" response "+status, r.Value.Content, now.Value.Content, false)
	}
}

func (c *comparison) content(at string, was, is openapi3.Content, request bool) {
	for media, m := range was {
		if is[media] == nil {
			c.add(at, "media type %s is gone", media)
			continue
		}
		c.schema(at, m.Schema, is[media].Schema, request)
	}
}

func (c *comparison) schema(at string, wasRef, isRef *openapi3.SchemaRef, request bool) {
	if wasRef == nil || isRef == nil {
		return
	}
	was, is := wasRef.Value, isRef.Value
	pair := [2]*openapi3.Schema{was, is}
	if c.seen[pair] {
		return
	}
	c.seen[pair] = true
	if !slices.Equal(was.Type.Slice(), is.Type.Slice()) || was.Format != is.Format {
		c.add(at, "type %v %s has become %v %s", was.Type.Slice(), was.Format, is.Type.Slice(), is.Format)
		return
	}
	for _, word := range was.Enum {
		if request && len(is.Enum) > 0 && !slices.Contains(is.Enum, word) {
			c.add(at, "the value %v is not taken any more", word)
		}
	}
	for _, name := range sortedKeys(was.Properties) {
		if is.Properties[name] == nil {
			c.add(at+"."+name, "is gone")
			continue
		}
		c.schema(at+"."+name, was.Properties[name], is.Properties[name], request)
	}
	for _, name := range is.Required {
		if request && !slices.Contains(was.Required, name) {
			c.add(at+"."+name, "has become required")
		}
	}
	for _, name := range was.Required {
		if !request && !slices.Contains(is.Required, name) {
			c.add(at+"."+name, "may now be missing")
		}
	}
	c.schema(at+"[]", was.Items, is.Items, request)
}

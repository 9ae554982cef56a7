package main

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

const document = `
openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /pumps:
    post:
      operationId: addPump
      parameters:
        - {name: dryRun, in: query, schema: {type: boolean}}
      requestBody:
        content: {application/json: {schema: {type: object, required: [name], properties: {name: {type: string}, kind: {type: string, enum: [A, B]}}}}}
      responses:
        "200":
          description: made
          content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: string}}}}}
`

func load(t *testing.T, text string) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	require.NoError(t, err)
	return doc
}

func TestCompare(t *testing.T) {
	require.Empty(t, compare(load(t, document), load(t, document)))

	for name, change := range map[string]struct{ from, to, want string }{
		"operation gone":     {"post:", "put:", "is gone"},
		"parameter gone":     {"dryRun", "tryRun", "parameter dryRun is gone"},
		"parameter required": {"in: query,", "in: query, required: true,", "has become required"},
		"type changed":       {"schema: {type: boolean}", "schema: {type: string}", "has become [string]"},
		"member required":    {"required: [name]", "required: [name, kind]", "kind: has become required"},
		"word gone":          {"enum: [A, B]", "enum: [A]", "the value B is not taken any more"},
		"status gone":        {`"200"`, `"201"`, "response 200 is gone"},
		"answer member gone": {"required: [id], properties: {id:", "properties: {no:", "id: is gone"},
		"answer may lack":    {"required: [id], ", "", "id: may now be missing"},
		"media type gone":    {"content: {application/json: {schema: {type: object, required: [id]", "content: {text/plain: {schema: {type: object, required: [id]", "media type application/json is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(document, change.from, change.to, 1)
			require.NotEqual(t, document, changed)
			require.Contains(t, strings.Join(compare(load(t, document), load(t, changed)), "\n"), change.want)
		})
	}
}

package tagtemplate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagtemplate"
)

// A small template must not make large texts, a panic or a number that has wrapped around.
func TestValuesThatDoNotFit(t *testing.T) {
	many := strings.Repeat("${a}", 1000)
	for name, one := range map[string]struct{ template, values, field, says string }{
		"pattern that is too deep as a whole": {`{"id": "x", "parameters": [{"name": "a", "type": "String", "pattern": "` + strings.Repeat("(", 1000) + strings.Repeat(")", 1000) + `"}]}`,
			`{"a": "v"}`, "parameters[0].pattern", "regular expression"},
		"long text":         {`{"id": "x", "tags": [{"tagId": "` + strings.Repeat("t", 4097) + `"}]}`, `{}`, "tags[0].tagId", "longer"},
		"text of values":    {`{"id": "x", "parameters": [{"name": "a", "type": "String"}], "tags": [{"tagId": "t", "description": "` + many + `"}]}`, `{"a": "` + strings.Repeat("v", 5) + `"}`, "tags[0]", "longer"},
		"sum that wraps":    {`{"id": "x", "parameters": [{"name": "a", "type": "Int"}], "tags": [{"tagId": "t${a+1}"}]}`, `{"a": 9223372036854775807}`, "tags[0]", "does not fit"},
		"difference, which": {`{"id": "x", "parameters": [{"name": "a", "type": "Int"}], "tags": [{"tagId": "t${a-1}"}]}`, `{"a": -9223372036854775808}`, "tags[0]", "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, derived.NewMemory())
			_, err := p.service.Create(t.Context(), template(t, one.template), tagtemplate.Edit{})
			if err == nil {
				var in tagtemplate.Instance
				require.NoError(t, json.Unmarshal([]byte(`{"id": "i", "values": `+one.values+`}`), &in))
				_, _, err = p.service.PutInstance(t.Context(), "x", in, tagtemplate.Edit{})
			}
			require.ErrorIs(t, err, tagtemplate.ErrInvalid)
			require.ErrorContains(t, err, one.field)
			require.ErrorContains(t, err, one.says)
		})
	}
}

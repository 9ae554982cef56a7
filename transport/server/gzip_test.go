package server_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi"
)

// What is compressed has neither a secret nor an ETag.
func TestWhichAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	require.NoError(t, err)
	tagged := map[string]bool{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, answer := range op.Responses.Map() {
				if answer.Value != nil && answer.Value.Headers["ETag"] != nil {
					tagged[op.OperationID] = true
				}
			}
		}
	}
	require.NotEmpty(t, tagged)
	compressed := 0
	for _, op := range operations(t) {
		if !op.Gzip {
			continue
		}
		compressed++
		require.False(t, tagged[op.ID], op.ID)
		require.NotContains(t, []string{"accounts", "console", "hubs"}, op.Part, op.ID)
		require.NotContains(t, []string{"getDriver", "createDriver", "replaceDriver", "bindBridge"}, op.ID) // settings of drivers and bind secrets
	}
	require.Greater(t, compressed, 40)
}

func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	p := start(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/openapi.yaml", nil)
	require.NoError(t, err)
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"))
	unzipped, err := gzip.NewReader(answer.Body)
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	require.Equal(t, string(openapi.Document), string(text))
}

package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/contract"
	"github.com/otkit/otkit/openapi"
)

var theContract = sync.OnceValues(func() (*contract.Contract, error) { return contract.New(openapi.Document) })

// Many generated clients know one schema for each status, and read every body of that status by it.
func TestAStatusHasOneSchema(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	require.NoError(t, err)
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				schemas := map[string]bool{}
				for media, content := range response.Value.Content {
					if media == "application/json" || strings.HasSuffix(media, "+json") {
						schemas[content.Schema.Ref] = true
					}
				}
				require.LessOrEqual(t, len(schemas), 1, "%s %s %s: %v", method, path, status, schemas)
			}
		}
	}
}

// wrong marks a request that breaks the contract, so that only its answer is held to it.
func wrong(ctx context.Context) context.Context { return contract.Wrong(ctx) }

// judge returns a RoundTripper that holds every request and every answer to the contract.
func judge(t testing.TB, next http.RoundTripper) http.RoundTripper {
	c, err := theContract()
	require.NoError(t, err)
	return c.Judge(t, next)
}

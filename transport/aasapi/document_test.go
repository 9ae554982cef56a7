package aasapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// document is the official OpenAPI document as a judge of answers.
type document struct {
	doc    *openapi3.T
	router routers.Router
}

var (
	documentOnce sync.Once
	official     *document
	documentErr  error
)

// theDocument skips the test where the official document is not at hand.
func theDocument(t testing.TB) *document {
	t.Helper()
	folder := filepath.Join(realtest.Data(t, "idta"), "spec")
	documentOnce.Do(func() { official, documentErr = loadDocument(folder) })
	require.NoError(t, documentErr)
	return official
}

// mend makes the files of the document fit for a loader. They refer to each other by hosted addresses;
// their patterns of strings are of another flavour of regular expressions; of the kinds of metadata and
// of values one is to fit, although all are so open that several do; and in two places a parameter is
// taken for a schema.
func mend(data []byte) []byte {
	const hosted = "https://api.swaggerhub.com/domains/Plattform_i40/"
	var out []string
	choice := false
	for line := range strings.Lines(string(data)) {
		if before, address, ok := strings.Cut(line, hosted); ok {
			name, tail, _ := strings.Cut(address, "#")
			file := "part2-api-schemas.yaml#"
			if strings.HasPrefix(name, "Part1-") {
				file = "part1-metamodel-schemas.yaml#"
			}
			line = before + file + tail
		}
		bare, last := strings.TrimSpace(line), len(out)-1
		switch {
		case strings.Contains(line, "ud800"):
			if !strings.HasPrefix(bare, "pattern:") {
				out = out[:last] // the pattern stands below its name
			}
			continue
		case strings.HasPrefix(line, "    SubmodelElementMetadata:"), strings.HasPrefix(line, "    SubmodelElementValue:"):
			choice = true
		case choice && bare == "oneOf:":
			line, choice = strings.Replace(line, "oneOf", "anyOf", 1), false
		case strings.HasPrefix(bare, "$ref:") && strings.Contains(bare, "parameters/HandleId") && strings.TrimSpace(out[last]) == "schema:":
			out[last] = strings.TrimRight(out[last], "\r\n") + " {type: string}\n"
			continue
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, ""))
}

func loadDocument(folder string) (*document, error) {
	read := func(name string) ([]byte, error) {
		data, err := os.ReadFile(filepath.Join(folder, name))
		return mend(data), err
	}
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	loader.ReadFromURIFunc = openapi3.URIMapCache(func(_ *openapi3.Loader, u *url.URL) ([]byte, error) { return read(filepath.Base(u.Path)) })
	data, err := read("entire-api-v3.1.yaml")
	if err != nil {
		return nil, err
	}
	doc, err := loader.LoadFromDataWithPath(data, &url.URL{Path: "entire-api-v3.1.yaml"})
	if err != nil {
		return nil, err
	}
	doc.Servers = openapi3.Servers{{URL: v31}}
	router, err := gorillamux.NewRouter(doc)
	return &document{doc, router}, err
}

// judge holds an answer to the document.
func (d *document) judge(t testing.TB, sent *http.Request, a answer) {
	t.Helper()
	if !strings.HasPrefix(sent.URL.Path, v31) || sent.Method == http.MethodHead {
		return
	}
	req := sent.Clone(context.Background())
	req.Body = http.NoBody
	route, params, err := d.router.FindRoute(req)
	if err != nil {
		return // such as a wrong method, which the document has nothing about
	}
	input := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}}
	err = openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: a.status, Header: a.header,
		Body: io.NopCloser(strings.NewReader(a.body)), Options: input.Options,
	})
	require.NoError(t, err, "%s %s: %d %s", sent.Method, sent.URL, a.status, a.body)
}

func TestEveryOperationOfTheDocumentIsThere(t *testing.T) {
	d := theDocument(t)
	r := start(t, rigOptions{})
	ids := strings.NewReplacer(
		"{aasIdentifier}", b64(pumpID), "{submodelIdentifier}", b64(dataID), "{cdIdentifier}", b64("urn:concept:speed"),
		"{idShortPath}", "speed", "{handleId}", b64("h"), "{packageId}", b64("p"))
	all, left := 0, 0
	for pattern, item := range d.doc.Paths.Map() {
		for method := range item.Operations() {
			all++
			a := r.send(method, ids.Replace(pattern), noBody)
			isLeft := false
			for _, family := range []string{"/aas", "/submodel", "/query"} {
				isLeft = isLeft || pattern == family || strings.HasPrefix(pattern, family+"/")
			}
			if isLeft {
				left++
				require.Equal(t, http.StatusNotImplemented, a.status, "%s %s", method, pattern)
				continue
			}
			require.NotEqual(t, http.StatusNotImplemented, a.status, "%s %s", method, pattern)
			if a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed {
				require.NotContains(t, a.body, "there is nothing at this path", "%s %s", method, pattern)
				require.NotContains(t, a.body, "does not take the method", "%s %s", method, pattern)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "aas.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), fmt.Sprintf("Of the %d operations of the 3.1 document %d are served", all, all-left))
	require.Contains(t, string(text), fmt.Sprintf("The other %d answer 501", left))
}

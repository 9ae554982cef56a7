package openapi_test

import (
	"bytes"
	"fmt"

	"github.com/otkit/otkit/openapi"
)

// Serve the document, or generate a client of it in another language.
func Example() {
	line, _, _ := bytes.Cut(openapi.Document, []byte("\n"))
	fmt.Println(string(line))
	// Output: openapi: 3.0.3
}

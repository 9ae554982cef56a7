// Command apicompat compares two OpenAPI documents and fails when the newer one breaks clients of the
// older one: an operation, a response status or a member of an answer is gone, a type has changed, a
// request asks for more, or an enumeration of a request has lost a word.
package main

import (
	"fmt"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: apicompat OLD.yaml NEW.yaml")
		os.Exit(2)
	}
	var docs [2]*openapi3.T
	for i, path := range os.Args[1:] {
		doc, err := openapi3.NewLoader().LoadFromFile(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "apicompat: %s: %v\n", path, err)
			os.Exit(2)
		}
		docs[i] = doc
	}
	breaks := compare(docs[0], docs[1])
	for _, b := range breaks {
		fmt.Println(b)
	}
	if len(breaks) > 0 {
		os.Exit(1)
	}
}

// How do I embed an AAS repository with a store of my own? Implement aas.Store: the one in store.go keeps
// everything in memory and each change as a line of a file. The standard's API is an http.Handler.
//
//	go run ./examples/aas-embed
//	curl -s localhost:8081/api/v3.1/submodels -H 'Content-Type: application/json' -d '{"modelType":"Submodel","id":"urn:example:data","idShort":"Data"}'
//	curl -s localhost:8081/api/v3.1/submodels
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/verify"
	"github.com/otkit/otkit/transport/aasapi"
)

func main() {
	store, err := openStore(filepath.Join(os.TempDir(), "shells.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	handler, err := repository(store)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://localhost:8081/api/v3.1/shells")
	log.Fatal(http.ListenAndServe("localhost:8081", handler))
}

// repository serves a store over the standard's API, to everybody who can reach it: aasapi.Options.Guard
// is the place for a check of the caller.
func repository(store aas.Store) (http.Handler, error) {
	service, err := aas.NewService(store, aas.Options{Verifier: verify.New(verify.Options{})})
	if err != nil {
		return nil, err
	}
	return aasapi.New(service, aasapi.Options{})
}

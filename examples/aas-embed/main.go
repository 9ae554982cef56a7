// How do I embed an AAS repository with a store of my own? Implement repository.Store: the one in store.go keeps
// everything in memory and each change as a line of a file. The standard's API is an http.Handler.
//
//	go run ./examples/aas-embed
//	curl -s localhost:8081/api/v3.1/submodels -H 'Content-Type: application/json' -d '{"modelType":"Submodel","id":"urn:example:data","idShort":"Data"}'
//	curl -s localhost:8081/api/v3.1/submodels
package main

import (
	"fmt"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
	"log"
	"net/http"
	"os"
	"path/filepath"
)

func main() {
	store, err := openStore(filepath.Join(os.TempDir(), "shells.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	handler, err := newService(store)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://localhost:8081/api/v3.1/shells")
	log.Fatal(http.ListenAndServe("localhost:8081", handler))
}

// newService serves a store over the standard's API, to everybody who can reach it: aasapi.Options.Guard
// is the place for a check of the caller.
func newService(store repository.Store) (http.Handler, error) {
	service, err := repository.New(store, repository.Options{})
	if err != nil {
		return nil, err
	}
	return aasapi.New(service, aasapi.Options{})
}

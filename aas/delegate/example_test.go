package delegate_test

import (
	"fmt"
	"github.com/otkit/otkit/aas/delegate"
	"github.com/otkit/otkit/aas/repository"
)

func Example() {
	handler, err := delegate.New(delegate.Options{Allow: []string{"http://127.0.0.1:8080/operations"}})
	if err != nil {
		panic(err)
	}
	_, err = repository.New(repository.NewMemory(), repository.Options{Delegate: handler})
	fmt.Println(err)
	// Output: <nil>
}

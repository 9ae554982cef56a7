package delegate_test

import (
	"fmt"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/delegate"
)

func Example() {
	handler, err := delegate.New(delegate.Options{Allow: []string{"http://127.0.0.1:8080/operations"}})
	if err != nil {
		panic(err)
	}
	_, err = aas.NewService(aas.NewMemory(), aas.Options{Delegate: handler})
	fmt.Println(err)
	// Output: <nil>
}

package linked_test

import (
	"fmt"

	"github.com/otkit/otkit/discovery/linked"
)

func Example() {
	fmt.Println(linked.Grant{Position: 7}.Position)
	// Output: 7
}

package aasxml_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/otkit/otkit/aas/aasxml"
)

func Example() {
	env, err := aasxml.Decode(strings.NewReader(`<environment xmlns="https://admin-shell.io/aas/3/0">
		<conceptDescriptions><conceptDescription><id>0173-1#02-AAO677#002</id></conceptDescription></conceptDescriptions>
	</environment>`), aasxml.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(env.ConceptDescriptions[0].ID)
	if err := aasxml.Encode(os.Stdout, env); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0173-1#02-AAO677#002
	// <?xml version="1.0" encoding="UTF-8"?>
	// <environment xmlns="https://admin-shell.io/aas/3/1"><conceptDescriptions><conceptDescription><id>0173-1#02-AAO677#002</id></conceptDescription></conceptDescriptions></environment>
}

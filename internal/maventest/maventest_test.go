package maventest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/maventest"
)

func Example() {
	test := func(t *testing.T) {
		jar := maventest.Need(t, "org.openapitools:openapi-generator-cli:7.10.0")
		out, err := maventest.Command(t, jar, "version").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "7.10.0")
	}
	fmt.Printf("%T\n", test)
	// Output: func(*testing.T)
}

package piptest_test

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/piptest"
)

func Example() {
	test := func(t *testing.T) {
		python := piptest.Need(t, "aas-test-engines==1.0.3")
		out, err := exec.CommandContext(t.Context(), python, "-c", "import aas_test_engines").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	fmt.Printf("%T\n", test)
	// Output: func(*testing.T)
}

package discoverypart

import (
	"fmt"
	"os"
	"testing"

	"github.com/otkit/otkit/internal/pgtest"
)

// RunEngine runs an engine in a process of its own, where the system has what the test of engines needs.
var RunEngine func() error

// EngineEnv is the variable that makes the test's program an engine of that name instead.
const EngineEnv = "DISCOVERYPART_TEST_ENGINE"

func TestMain(m *testing.M) {
	if os.Getenv(EngineEnv) != "" {
		if err := RunEngine(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	pgtest.Main(m)
}

package embedded_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// engine runs an engine, where the system has what the test of engines needs.
var engine func() error

func TestMain(m *testing.M) {
	if os.Getenv(nameEnv) != "" {
		if err := engine(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// The environment of an engine in a process of its own.
const (
	nameEnv   = "EMBEDDED_TEST_NAME"
	listenEnv = "EMBEDDED_TEST_LISTEN"
	routesEnv = "EMBEDDED_TEST_ROUTES"
)

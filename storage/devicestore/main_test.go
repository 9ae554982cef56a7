package devicestore_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/otkit/otkit/internal/pgtest"
)

// engine runs an engine, where the system has what the test of engines needs.
var engine func() error

func TestMain(m *testing.M) {
	if os.Getenv("DEVICESTORE_TEST_ENGINE") != "" {
		if err := engine(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	pgtest.Main(m, func() int {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			return 1
		}
		return 0
	})
}

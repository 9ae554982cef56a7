package modelstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/otkit/otkit/internal/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Main(m, func() int {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			return 1
		}
		return 0
	})
}

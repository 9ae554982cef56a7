package drivers_test

import (
	"testing"

	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/drivers/driverstest"
)

func TestMemory(t *testing.T) {
	driverstest.TestRepository(t, func(testing.TB) drivers.Repository { return drivers.NewMemory() })
}

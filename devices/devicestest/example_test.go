package devicestest_test

import (
	"testing"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/devicestest"
)

func ExampleTestStore() {
	_ = func(t *testing.T) { // TestMyStore of your package
		devicestest.TestStore(t, func(testing.TB) devices.Store { return devices.NewMemory() })
	}
}

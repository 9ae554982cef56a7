package devices_test

import (
	"testing"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/devicestest"
)

func TestMemory(t *testing.T) {
	devicestest.TestStore(t, func(testing.TB) devices.Store { return devices.NewMemory() })
}

func TestMemoryIsShared(t *testing.T) {
	devicestest.TestSharedStore(t, func(testing.TB) devices.SharedStore { return devices.NewMemory() })
}

package predictivetest_test

import (
	"testing"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/predictivetest"
)

func ExampleTestRecordStore() {
	_ = func(t *testing.T) { // TestMyStore of your package
		predictivetest.TestRecordStore(t, func(testing.TB) predictive.RecordStore { return new(predictive.MemoryRecords) })
	}
}

func ExampleTestRegistry() {
	_ = func(t *testing.T) { // TestMyRegistry of your package
		predictivetest.TestRegistry(t, func(testing.TB) predictive.Registry { return new(predictive.MemoryRegistry) })
	}
}

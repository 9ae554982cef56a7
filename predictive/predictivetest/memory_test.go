package predictivetest_test

import (
	"testing"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/predictivetest"
)

func TestMemoryRecords(t *testing.T) {
	predictivetest.TestRecordStore(t, func(testing.TB) predictive.RecordStore { return new(predictive.MemoryRecords) })
}

func TestMemoryRegistry(t *testing.T) {
	predictivetest.TestRegistry(t, func(testing.TB) predictive.Registry { return new(predictive.MemoryRegistry) })
}

func TestMemoryJobs(t *testing.T) {
	predictivetest.TestJobStore(t, func(testing.TB) predictive.JobStore { return new(predictive.MemoryJobs) })
}

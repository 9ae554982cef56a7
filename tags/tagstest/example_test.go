package tagstest_test

import (
	"testing"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/tags/tagstest"
)

// A harness that also has Writable, Missing, Disconnect and Reconnect lets the suite look at more.
func ExampleTestDriver() {
	// In a test file of the driver's package this function has a name, such as TestConformance.
	_ = func(t *testing.T) {
		tagstest.TestDriver(t, tagstest.DriverHarness{
			New: func(t testing.TB) tags.Driver {
				d, err := simdriver.New(simdriver.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return d
			},
			Readable: []tags.Point{{Address: "device1.tag1", Type: tags.Float}},
		})
	}
	// Output:
}

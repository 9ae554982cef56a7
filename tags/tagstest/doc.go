// Package tagstest has conformance suites for drivers, history stores, write logs and repositories of the tag configuration. Run the suite in a test:
//
//	func TestConformance(t *testing.T) {
//		tagstest.TestDriver(t, tagstest.DriverHarness{
//			New:      func(t testing.TB) tags.Driver { return mydriver.New(device.Addr()) },
//			Readable: []tags.Point{{Address: "level", Type: tags.Float}},
//		})
//	}
//
// The suites check the contracts that the comments of package tags state, and nothing else. They do
// not run in parallel with other tests of the same package, because they look for goroutines that are
// left behind.
package tagstest

// Package bridgetest has a conformance suite for implementations of bridge.Buffer. [TestBuffer] calls one and fails the test where it does not
// what the comments of the interface say; [BenchmarkBuffer] measures one.
package bridgetest

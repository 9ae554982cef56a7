// Package pgtest provides tests with fresh databases of a real PostgreSQL server, which the test binary
// starts itself from the installed programs, in a folder of its own, and which ends with the binary.
//
// A package that uses it has
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
package pgtest

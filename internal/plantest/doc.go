// Package plantest makes several engines of one plant within a test: their parts share stores of the test, a database of sessions and a bus in
// memory.
package plantest

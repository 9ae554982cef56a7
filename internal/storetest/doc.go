// Package storetest opens databases with the stores of every domain for tests, and makes rows for them.
package storetest

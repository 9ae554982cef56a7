// Package sqlite opens the embedded database: two SQLite files in a data directory, with a driver
// that is plain Go.
//
// Both are kept with synchronous FULL, so that what was acknowledged survives a loss of power, and their writes are
// committed in groups.
package sqlite

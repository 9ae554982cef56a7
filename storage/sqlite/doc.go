// Package sqlite opens the embedded database: two SQLite files in a data directory, with a driver
// that is plain Go.
//
// State is kept with synchronous FULL, so that what was acknowledged survives a loss of power, and
// its writes are committed in groups. History is kept with synchronous NORMAL: what was appended
// survives the end of the process, and a loss of power may cost the last moments but never the file.
package sqlite

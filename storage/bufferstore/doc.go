// Package bufferstore keeps the offline buffer of a bridge in an SQLite file of its own: what was appended survives the end of the process
// and a loss of power.
//
// # Limits
//
// All files of the buffer together take at most [Options].MaxBytes: a damaged file that was put aside gives way to new blocks, and then the
// oldest blocks do. Only while what can be read of a damaged file is saved, they may take twice as much. Blocks older than [Options].TTL
// are removed. Their age is measured so that a clock that is set does not make them older, as long as the process runs; the time in which
// it does not run counts by the wall clock, and the time in which a machine sleeps does not count.
//
// # Faults
//
// A full disk fails [Store.Append]; [Store.Ack] works, because a file beside the database keeps some space for it. A file that is
// damaged is put aside as <file>.damaged: the new one gets what can be read, under a new epoch, and [bridge.BufferStats] says what happened. One
// damaged file is kept.
package bufferstore

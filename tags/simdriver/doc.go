// Package simdriver is a driver without a device: it makes the values of a plant itself. It serves
// demonstrations, load tests and tests of programs that use the tag engine, and it can fail in the ways in
// which real devices fail.
//
// The value of every signal is a pure function of the seed, the signal and the time since Start, so
// that two runs with the same options see the same plant, however often they read it, and so that
// ValueAt can give any moment of the past. Only what is written to a signal of shape Hold, and what
// follows such a signal, depends on more than the time.
//
// There are two kinds of signals, which may be mixed. Generated ones are named device<d>.tag<t>, both
// counted from 1, such as device2.tag7; all have the shape of the scenario, and their types repeat
// every ten tags: Float, Float, Int, Float, Bool, Float, Int, String, Float (ReadWrite), Bytes. They
// cost no memory, however many there are. Named ones are given one by one as Signal. A signal's address
// is its name.
//
// Values change in steps of UpdateInterval; the time of a reading is that of its step.
package simdriver

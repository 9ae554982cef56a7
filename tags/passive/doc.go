// Package passive is the tag driver for equipment that sends its values by itself, such as over HTTP, and
// cannot be asked for them. A program gives what it receives to [Driver.Push].
//
// # Values
//
// A tag has one of the data types Bool, Int, Float, String and Bytes, or a narrower type, as devices have them:
// Int16, UInt16, Int32, UInt32, Int64, UInt64, Float32, Float64, or String:n for at most n bytes. A batch with an
// item that does not fit is refused as a whole, and the error names each bad item. Tags are read-only.
//
// # Times
//
// An item that is older than the newest of its tag goes to history and does not become the current value, except
// if the newest is ahead of this clock: then the clock of the sender was set back. A tag without a new item
// for longer than its StaleAfter becomes Uncertain, and Bad after three times as long.
package passive

// Package tags is the tag engine: it reads data points of equipment through drivers and serves their
// newest values, with a quality and a reason, to any number of readers and subscribers.
//
// # Parts
//
// A [Tag] defines one data point: its driver, address, data type, scaling, limits and deadband. An
// [Engine] holds tags and drivers. A [Driver] speaks one protocol to one endpoint and is simple on
// purpose: it connects, reads and writes when it is told to. Optional abilities are the interfaces
// [Subscriber], [Browser], [AddressChecker], [Rounder] and [BatchLimiter]. A [Recorder] stores the engine's
// changes in a [HistoryStore]; a [WriteLog] keeps what became of each write. Drivers for protocols are
// in packages of their own below this one, conformance suites for drivers and stores in tagstest.
//
// # The way of a value
//
// Each driver has one goroutine in the engine, so a dead device delays no other. It polls the tags in
// groups of one interval, in batches. A reading is scaled, checked against the tag's limits and put
// into the cache. A change that is larger than the tag's deadband is reported: to the functions given
// to [Engine.Observe], completely, and to subscriptions, which hold the newest value of
// each tag alone.
//
// # Quality
//
// Good is what the device vouches for. Uncertain is a value outside its limits, or one that is older
// than three polling intervals. Bad is a value that could not be read, or one older than nine; it
// keeps the last value that was known. The [Reason] says why. Ages are measured by a clock that
// setting the time does not move.
//
// # Writes
//
// A write is logged, queued and acknowledged at once; [Engine.Outcome] tells what became of it. It is
// sent at most once: when a connection is lost in the middle the outcome is [WriteUnknown], and the
// caller decides. A write that asks for it is read back and then [WriteConfirmed], or
// [WriteUnconfirmed] when the device took it and does not give it back. What a device cannot hold
// within the tag's limits is refused, see [Rounder].
//
// # Lost connections
//
// A driver says that its connection is gone with [ErrNotConnected]; three failed calls in a row count
// as that too. The engine then makes its tags Bad, fails what is queued and connects again, with a
// wait that doubles up to a limit.
package tags

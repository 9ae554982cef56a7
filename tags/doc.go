// Package tags is a tag engine: it reads data points of equipment through drivers and provides their newest values, with a quality and
// a reason, to readers and subscribers.
//
// # Parts
//
// A [Tag] defines a data point: its driver, address, data type, scaling, limits and deadband. An [Engine] holds tags and drivers. A
// [Driver] implements one protocol: it connects, reads and writes when the engine asks. Optional abilities are the interfaces
// [Subscriber], [Unpolled], [Forwarder], [Browser], [PointValidator], [Rounder], [BatchLimiter] and [Planner]. A [WriteLog] stores the outcome of each write.
// Package history stores the changes of values. Each protocol has a package below this one; package tagstest has conformance suites
// for drivers and stores.
//
// # From device to reader
//
// The engine runs one goroutine for each driver, so a slow device does not delay others. It polls tags in groups with the same
// interval. A reading is scaled, checked against the limits of the tag and cached. If it differs from the last reported value by more
// than the deadband, it is a change. Functions passed to [Engine.Observe] receive every change. Subscriptions receive the newest value
// of each tag.
//
// # Quality
//
// Good values are valid. Uncertain values are outside the limits of the tag, or stale: older than [Tag.StaleAfter], by default three
// polling cycles, as long as the cycles of the device really are (see [Cycle]). Bad values could not be read, or are three times as old
// as that; they keep the last known value. The [Reason] is the cause. Changes of the system clock do not affect ages.
//
// # Store and forward
//
// A [Forwarder] is a device that keeps its readings until they are stored, and has them again after an outage. The engine stores them
// with [Options.Store] before the device may forget them, with the times at which they were taken. What is older than the current value
// is a change that is [Change.Late]. The device reports by itself: its tags are not polled and do not become stale.
//
// # Writes
//
// A write is logged, queued and accepted immediately; [Engine.GetWrite] returns its outcome. It is sent at most once: if the connection
// is lost during a write, the outcome is [WriteUnknown], and the caller decides. A write that asks for confirmation is read back. It is
// then [WriteConfirmed], or [WriteUnconfirmed] if the device accepted the value but does not return it. Values that the device cannot
// hold within the limits of the tag are refused, see [Rounder].
//
// # Lost connections
//
// A driver reports a lost connection with [ErrNotConnected]; three consecutive failed calls count as one, too. The engine then sets the
// quality of its tags to Bad, fails the queued writes and reconnects with exponential backoff.
//
// # Several engines
//
// Engines that have the same drivers share them with [Options.Shared]. One engine at a time runs a driver: whoever holds a lease of it, such as one
// of package cluster, calls [Engine.RunDriver], and passes the changes of its tags on to the others, which take them with [Engine.Apply].
// There they are read and subscribed to as on the engine that runs the driver, and writes are passed on to that. [Change.Remote] tells who observes
// changes to leave history and rules to it.
package tags

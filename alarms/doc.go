// Package alarms manages the alarms of a plant: conditions, their occurrences, acknowledgement, suppression and a journal
// of everything that happened.
//
// # Conditions and occurrences
//
// A [Condition] is something that can go wrong: a rule on a tag, the label set of an alert of another system, or whatever
// a program names by a key. It gets a code when it is first used and keeps it until it is trimmed, see [Trimmer]. An
// [Occurrence] is one time that it is active, from [Service.Raise] to [Service.Clear]. At most one occurrence of a
// condition is active.
//
// Raising an active condition changes nothing, with two exceptions. A higher severity takes effect with its message and is
// journaled as [Escalated]. If a latching one has returned to normal, raising it is journaled as [Recurred]. If the
// occurrence is acknowledged by then, it ends and keeps its acknowledgement instead, and a new occurrence begins, which is
// annunciated and must be acknowledged. Raising after clearing begins a new occurrence.
//
// # States
//
// [Condition.State] follows ANSI/ISA-18.2-2016 (IEC 62682): normal, unacknowledged, acknowledged and returned
// unacknowledged; shelved, suppressed by design and out of service. In the last three, occurrences are recorded and
// journaled but suppressed: they are omitted from the lists and not sent to subscribers. If the condition is active and
// unacknowledged when suppression ends, the occurrence is annunciated then. Shelving ends at its time limit, even if no
// process was running at that time.
//
// A latching occurrence stays active until [Service.Reset] when its condition returns to normal.
//
// # Order
//
// Each event of the journal has a sequence number, and an occurrence has that of the event that raised it. The journal is
// ordered by these numbers. If the clock is set back by up to a day, times keep their order too: they advance at half
// speed until the clock has caught up. Lists of occurrences are ordered by the time raised, and by the sequence number if
// times are equal.
//
// # Late reports
//
// A source may learn of an occurrence when it is over: it came and went while a link was down. [Signal.Ended] reports such
// an occurrence. It is journaled and annunciated as raised and cleared with its own times, in one transaction, and has the
// label [LabelLate]. In all its events it has ended already, so that nobody takes it for active. It waits for its
// acknowledgement like any other. The same ID is stored once, so that a source may repeat the report; until the
// occurrence is trimmed, see [Trimmer].
//
// It does not change another occurrence of the condition, and becomes Condition.Last only if that is older and has ended.
// Then a latching one waits for its reset: it is active, and has returned to normal. Otherwise it ends without a reset,
// because the newer occurrence has needed one, or still does.
//
// # Sources
//
// Package alarms/rules raises alarms for tags, package alarms/driveralarms for drivers and package alarms/enginealarms for engines.
// Other programs call [Service.Raise] or [Service.Apply].
//
// # Writing
//
// Calls of many goroutines share a transaction of the [Store]. Each call returns when its changes are stored; subscribers
// are notified afterwards, in order. Alarms that a source cannot store are listed from memory, see [Service.ShowPending].
// If the context of a call ends while it is being stored, the call returns [ErrOutcomeUnknown].
package alarms

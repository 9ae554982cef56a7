// Package alarms holds the alarms of a plant: what can go wrong, what is going wrong now, who has
// acknowledged it, and a journal of all that ever happened to it.
//
// # Conditions and occurrences
//
// A [Condition] is something that can go wrong: a rule over a tag, the label set of an outside alert,
// or whatever a program names by a key. It gets a code when it is first heard of and keeps it until it is
// forgotten, see [Store].Trim. An [Occurrence] is one time that it went wrong: from [Service.Raise] to
// [Service.Clear]. At most one occurrence of a condition is active. Raising an active one changes
// nothing, except that a higher severity takes effect with its message and is journaled as [Escalated],
// and that a latching one whose condition comes back is journaled as [Recurred]. When an acknowledged one becomes graver or comes
// back, it ends and keeps its acknowledgement, and a new occurrence begins, which is told and has to be
// acknowledged. Raising after clearing makes a new occurrence.
//
// # States
//
// [Condition.State] follows ANSI/ISA-18.2-2016 (IEC 62682): normal, unacknowledged, acknowledged,
// returned unacknowledged; shelved, suppressed by design and out of service beside them. While one of
// the last three holds, occurrences are recorded and journaled as ever but suppressed: omitted from the
// lists and not sent to subscribers. When it ends and the condition is still active and
// unacknowledged, the occurrence is announced as new. Shelving ends by itself at its time limit, also when
// the process was down at that moment.
//
// A latching occurrence stays active when its condition returns to normal, until [Service.Reset].
//
// # Order
//
// Each event of the journal has a sequence number, and an occurrence has that of the event that
// raised it. The journal is ordered by these numbers. A clock that is set back by up to a day does not
// change the order of times either: they continue at half speed until it has caught up. Lists of
// occurrences are ordered by the time of the raise, and those that were raised at one time by these
// numbers.
//
// # Sources
//
// Package alarms/rules raises alarms for tags, and package alarms/driveralarms for drivers. A program that raises its own calls
// [Service.Raise] or [Service.Apply].
//
// # Writing
//
// Calls of many goroutines are gathered into one transaction of the [Store] while the one before it
// commits. Each call returns when its changes are stored; subscribers are notified afterwards, in order. What
// a source cannot store is shown from memory until it is, see [Service.ShowPending]. A
// call whose context ends before that gets an [ErrOutcomeUnknown] when it may be stored nevertheless.
package alarms

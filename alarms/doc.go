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
// the last three holds, occurrences are recorded and journaled as ever but withheld: left out of the
// lists and not told to subscribers. When it ends and the condition is still active and
// unacknowledged, the occurrence is told as new. Shelving ends by itself at its time limit, also when
// the process was down at that moment.
//
// A latching occurrence stays active when its condition returns to normal, until [Service.Reset].
//
// # Order
//
// Each event of the journal has a sequence number, and an occurrence has that of the event that
// raised it. The journal is ordered by these numbers: a clock that is set back changes what the times
// say, never the order. Lists of occurrences are ordered by the time of the raise, and those that were
// raised at one time by these numbers.
//
// # Rules
//
// [Rules] evaluates [Rule] values over the changes of a tag engine and raises and clears their alarms.
//
// # Writing
//
// Calls of many goroutines are gathered into one transaction of the [Store] while the one before it
// commits. Each call returns when what it did is stored; subscribers are told afterwards, in order. A
// call whose context ends before that gets an [ErrOutcomeUnknown] when it may be stored nevertheless.
package alarms

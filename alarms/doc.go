// Package alarms holds the alarms of a plant: what can go wrong, what is going wrong now, who has
// acknowledged it, and a journal of all that ever happened to it.
//
// # Conditions and occurrences
//
// A [Condition] is something that can go wrong: a rule over a tag, the label set of an outside alert,
// or whatever a program names by a key. It gets a code when it is first heard of and keeps it for
// ever. An [Occurrence] is one time that it went wrong: from [Service.Raise] to [Service.Clear]. At
// most one occurrence of a condition is active. Raising an active one changes nothing, except that a
// higher severity takes effect with its message and is journaled as [Escalated]. What was acknowledged
// is told again when it becomes graver, or when the condition of a latching occurrence comes back: it
// has to be acknowledged anew. Raising after clearing makes a new occurrence.
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
// raised it. Lists and the journal are ordered by these numbers: a clock that is set back changes
// what the times say, never the order.
//
// # Rules
//
// [Rules] evaluates [Rule] values over the changes of a tag engine and raises and clears their alarms.
//
// # Writing
//
// Calls of many goroutines are gathered into one transaction of the [Store] while the one before it
// commits. Each call returns when what it did is stored; subscribers are told afterwards, in order.
package alarms

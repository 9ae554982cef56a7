// Package rules evaluates rules over the changes of a tag engine, and raises and clears their alarms.
//
// A [Rule] watches one tag: a limit, a deviation from a setpoint, a rate of change, a state, bad quality, or no reading at
// all. A [Service] reads the rules of a [Store], observes the tags, and applies signals to an [alarms.Target]. Signals that
// cannot be stored are listed from memory and stored later; a [PendingStore] keeps them over a restart.
//
// # Late samples
//
// A change with tags.Change.Late is judged in a replay of its rule, by the times of the samples and in the order in which
// they come. The replay begins with the state of the rule when the connection was lost, and raises each occurrence that
// has ended with [alarms.Signal.Ended], unless current samples have raised the alarm for a part of that time. The ID of such
// an occurrence depends on the rule and on the time of its end, so that samples that are delivered again raise nothing
// twice. When the replay reaches the newest current samples, the rule takes over its delays, and raises the alarm if only
// the replay knows that it is active.
//
// A replay is in memory: 1 to 4 KiB of each rule that has one. It ends when a driver has delivered no late sample for ten
// seconds. After a restart, it begins with the stored state of the rule, or, if that is normal, with the first sample
// that comes.
package rules

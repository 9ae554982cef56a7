// Package rules evaluates rules over the changes of a tag engine, and raises and clears their alarms.
//
// A [Rule] watches one tag: a limit, a deviation from a setpoint, a rate of change, a state, bad quality, or no reading at
// all. A [Service] reads the rules of a [Store], observes the tags, and applies signals to an [alarms.Target]. Signals that
// cannot be stored are listed from memory and stored later; a [PendingStore] keeps them over a restart.
package rules

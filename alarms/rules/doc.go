// Package rules evaluates rules over the changes of a tag engine, and raises and clears their alarms.
//
// A [Rule] watches one tag: a limit, a deviation from a setpoint, a rate of change, a state, bad quality, or no reading at all. A
// [Service] holds the rules of a [Store], observes the tags, and applies what it finds to an [alarms.Target]. What cannot be stored is
// shown from memory and stored later; a [PendingStore] keeps it over a restart.
package rules

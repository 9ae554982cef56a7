// Package outbox stores deliveries, each of which is one message to one recipient, from the time they are planned until they are
// sent, discarded or dead letters. A [Store] also holds the position up to which the alarm journal was planned. [Memory] is a
// store in memory.
package outbox

// Package busstore carries the messages of engines over the PostgreSQL that they share: [Bus] is a bus.Bus. It is for plants that have no NATS, and needs nothing
// but the database.
//
// Messages are rows, which are removed after a minute. An engine writes what it has to send in one statement after another, and notifies the others, which read
// what they have not read. Where notifications do not pass, as behind a pooler, they look four times a second.
//
// A message costs more than over NATS, some tenths of a millisecond of the database, and takes a few milliseconds. A transaction that lasts for long, such as that
// of a backup, lets the table grow meanwhile.
package busstore

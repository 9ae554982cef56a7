// Package hubs sends alarms to the clients of the hubs of an engine.
//
// [Dashboard] serves the hub /hubs/alarms, [Console] the hub /hubs/console and [Demo] the hub /hubs/demo. Each follows the alarm journal by itself, so that its clients
// receive the alarms of all engines that share a database, in the order of the journal. Nothing of it is stored: the clients go with the
// process.
//
// # Delivery
//
// A client misses nothing while it is connected. If the database stalls, messages are late: alarms that cannot be stored are sent
// immediately, and silences that cannot be read in two seconds are taken as they were last read. Afterwards the hubs catch up from the
// journal.
//
// After a restart a Dashboard reads in the journal and the silences what was sent before. A silence that ended while the engine was
// stopped counts as ended before that.
package hubs

// Package alerting has the types of notifications: [Notification], [Channel], [Routes], [Record] and what goes with them. It is
// all that a channel of your own imports.
//
// # Parts
//
// Package silences keeps and matches silences. Package history queries the records of alerts. Package alertsource receives alerts
// from Prometheus Alertmanager and raises alarms for them. Package outbox stores deliveries until they are sent, and package
// dispatch plans and sends them. The channels are in packages of their own below channel. The stores are interfaces; each package
// has one in memory, and alertingtest has a conformance suite for each.
//
// # From an alarm to a message
//
// A dispatcher follows the alarm journal. For each new alarm it applies the silences, selects the channels by severity ([Routes]),
// and stores one delivery for each recipient in an outbox. The deliveries and the journal position are committed in one
// transaction, so no alarm is lost or planned twice. Each channel has its own worker: a channel that hangs does not delay the
// others. Several dispatchers may share an outbox.
//
// # Delivery guarantee
//
// Delivery is at least once. A channel that implements [Idempotent] passes Notification.ID to the receiver as an idempotency key,
// so the receiver can discard duplicates. Other channels may deliver a message twice: after a crash between sending and
// committing, and when the receiver's response is lost. A message that the receiver rejects permanently, or that is not delivered
// in time, becomes a dead letter. Dead letters can be requeued.
//
// # Resolved alarms
//
// When an alarm clears, otkit notifies exactly the recipients that received the first message, and always after it. A silence
// created after the first message does not hold back the resolved message.
package alerting

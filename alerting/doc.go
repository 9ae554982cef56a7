// Package alerting tells people about alarms: it takes alerts in from Alertmanager and its kin, keeps
// a history of them, holds silences, and sends each alarm to the channels that its severity asks for.
//
// # Parts
//
// [Silences] keeps and matches silences. [History] reads the records of alerts. A [Webhook] turns the
// bodies that alert sources post into alarms and records. A [Dispatcher] follows the journal of alarms
// and tells [Channel] implementations, which are in packages of their own below channel. The stores
// are interfaces; the package has them in memory, and alertingtest has a conformance suite for each.
//
// # The way of an alarm to a person
//
// The dispatcher reads the journal from a cursor that is kept with the outbox. For each alarm raised it
// asks the silences, then the [Routes] by severity, and puts one [Delivery] for each channel into the
// outbox in the same step as it moves the cursor: nothing is lost between the two and nothing is
// planned twice. One worker a channel claims deliveries and sends them, so that a channel that hangs
// delays no other. Several dispatchers may share one outbox.
//
// # How often a message arrives
//
// At least once. A channel that is [Idempotent] gives its peer the delivery's id as a key, and the
// message counts once there. With any other channel a message can arrive twice: when the process dies
// between sending and writing that down, and when the answer of the peer was lost. A message that was
// refused for good, or that could not be sent within [Options.MaxAge], becomes a dead letter, which can
// be sent again.
//
// # Resolved alarms
//
// When an alarm clears, the channels that were told of it are told that too, after the first message
// and never before it. A channel that was not told, because the alarm was silenced or the message
// became a dead letter, hears nothing. A silence that was made after the first message holds the second
// one back no more: what was opened is closed.
package alerting

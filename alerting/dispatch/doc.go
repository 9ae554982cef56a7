// Package dispatch plans and sends the notifications of alarms. A [Dispatcher] follows the alarm journal and stores deliveries in
// an outbox; one worker for each channel sends them. See package alerting for what it guarantees.
package dispatch

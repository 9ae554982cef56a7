// Package alertingpart is the part of a server for alerting: who is notified of alarms and how, which
// silences apply, and the webhook that takes alerts of other systems.
package alertingpart

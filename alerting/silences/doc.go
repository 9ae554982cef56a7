// Package silences keeps silences and finds those that apply to an alarm. A [Service] works over a [Store]; [Memory] is a store
// in memory. A silenced alarm is raised, stored and listed as usual; only its notifications are held back.
package silences

// Package devicealarms raises alarms about robots and automation devices: faults that they report, emergency stops, and
// devices that have become silent. A [Monitor] polls a [Source] and applies signals to an [alarms.Target].
package devicealarms

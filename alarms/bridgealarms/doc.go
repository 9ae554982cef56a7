// Package bridgealarms raises alarms about bridges that are bound: those that are offline, whose driver has no device, or that have
// dropped samples. A [Monitor] polls a [Source] and applies signals to an [alarms.Target].
package bridgealarms

// Package driveralarms raises an alarm for each driver that is offline. A [Monitor] polls the states of the drivers of a
// [Source] and applies signals to an [alarms.Target].
package driveralarms

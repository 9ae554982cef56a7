// Package driveralarms raises an alarm for each driver that is offline, see [Monitor].
package driveralarms

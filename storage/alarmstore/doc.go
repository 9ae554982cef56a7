// Package alarmstore keeps alarms, resolutions and alarm rules in a database.
package alarmstore

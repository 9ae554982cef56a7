// Package alarmstore stores alarms, resolutions and alarm rules in a database.
package alarmstore

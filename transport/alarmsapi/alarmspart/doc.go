// Package alarmspart is the part of a server for alarms: the alarms themselves, the rules that raise
// them, and the alarms of drivers that are offline.
package alarmspart

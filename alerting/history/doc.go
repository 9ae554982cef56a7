// Package history stores and queries the records of alerts. A [Service] works over a [Store]; [Memory] is a store in memory.
package history

// Package enginealarms raises an alarm for each engine of a plant that is lost: it was killed, hangs or does not reach the database. A [Monitor]
// polls a [Plant] and applies signals to a [Target].
package enginealarms

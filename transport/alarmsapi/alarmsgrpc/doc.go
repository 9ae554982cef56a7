// Package alarmsgrpc serves the half of PlatformApi that is about alarms. Package platformgrpc puts both
// halves together.
package alarmsgrpc

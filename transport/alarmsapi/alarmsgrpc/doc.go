// Package alarmsgrpc implements the methods of PlatformApi for alarms. Package platformgrpc registers them together with
// those for tags.
package alarmsgrpc

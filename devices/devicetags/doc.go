// Package devicetags shows what devices report as tags. A [Driver] reads the tags devices.<deviceId>.<member> from a
// [Source]; all are read-only:
//
//	x, y           position on the map, m
//	theta          heading, rad
//	map            name of the map
//	speed          m/s
//	battery        charge, %
//	charging       whether it charges
//	emergencyStop  whether a stop is latched or reported
//	faults         what it reports, joined by "; "
//	loads          what it carries, joined by "; "
//	state          as the service has it
//
// A device has the tags of what it has reported, and always state. While it is silent, or the engine that has it is not heard, all but state are Bad with the reason
// NotConnected. The time stamp is that of the report with which the value came.
package devicetags

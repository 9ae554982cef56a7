// Package safety judges commands for devices before they run.
//
// [New] returns the policies in their order: emergency stop, geofence, battery, collision, speed, operating mode. The first that
// refuses decides, and its reason has the figures. What cannot be judged is refused: a position that is not known or older than
// Options.MaxAge, a map without a zone, a number that is not finite. Only [devices.EmergencyStop] is never refused.
//
// The policies are a pre-check in software of what a command asks for. They take a device for a disc that moves straight and at
// constant speed to its target; people, loads that stick out and devices that nobody has registered are not known to them. They
// are no safety function in the sense of ISO 13849 or ISO 3691-4 and replace none: those are the device's and the plant's own.
package safety

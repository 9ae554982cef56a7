// Package devices keeps robots and automation devices and carries out commands on them.
//
// A [Device] has a [State] that follows what its executor reports, by an explicit table ([State.Next]). A [Command] is judged by
// a [Safety] before it reaches the device; check and dispatch are one step, so that two commands cannot both be judged by the
// same free space. Package devices/safety has the policies.
//
// The checks are a pre-check in software. They replace no safety function of the device or of the plant.
package devices

// Package mirror keeps the tag engines of a plant alike: the one that runs a driver publishes the changes of its tags on a bus, and the others take
// them over and pass writes on to it.
//
// Each message of a driver has the epoch of its engine's lease and a number. A receiver drops what has a lower epoch, so that an engine that has lost its lease and
// does not know it yet is not heard. Where a number is missing, it asks for all samples again. A driver is reported on every second; if nothing comes for
// 3 s, its tags become Uncertain with reason EngineLost.
//
// Changes are coalesced: of a tag that changes more often than Options.Interval, the newest sample is sent. History and alarms are with the
// engine that runs the driver, and see every change.
package mirror

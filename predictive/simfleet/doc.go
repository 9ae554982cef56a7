// Package simfleet simulates units that wear out and fail, for tests, examples and demonstrations of predictive maintenance
// without data of a plant.
//
// A unit has a hidden damage that grows faster and faster from a small value to 1, where it fails. Sensors follow the
// damage, each in its own way, with noise and with an offset of the unit. One sensor in seven is constant, and one in seven is noise only.
// [Operate] then runs units under operating conditions that change with each cycle, as an aircraft engine flies at different altitudes, and
// that move the sensors far more than the damage does.
//
// Everything follows from the seed.
package simfleet

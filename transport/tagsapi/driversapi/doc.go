// Package driversapi serves the REST API of drivers: their types, how they are doing, what they are made of, changes, and trials of devices.
package driversapi

// Package driverstest has the conformance suite for implementations of drivers.Repository.
package driverstest

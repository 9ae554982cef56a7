// Package coremodel gives the structs of package aas to aas-core and takes them back. aas-core verifies,
// and reads and writes XML; only the packages that do so import this one.
package coremodel

// Package coremodel converts the structs of package aas to those of aas-core, which verifies them.
package coremodel

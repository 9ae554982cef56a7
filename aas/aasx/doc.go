// Package aasx reads and writes AASX packages (IDTA-01005): an environment as XML or JSON, with the files
// that it names and a thumbnail, in a ZIP archive after the Open Packaging Conventions. Metamodels V3.0
// and V3.1 are read, V3.1 is written. Constraints are not checked: see package verify.
package aasx

// Package metamodel is the table of the classes of the AAS metamodel and their members (IDTA-01001 V3.2, which has all
// of V3.1), and of the descriptors of IDTA-01002. It says which members there are, in which order JSON and XML have them,
// and what they must be. Command gen writes the JSON codec and the checks of package aas from it; package aasxml is driven
// by it.
package metamodel

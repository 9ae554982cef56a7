// Package metamodel is the table of the classes of the AAS metamodel and their members (IDTA-01001 V3.2, which has all
// of V3.1), in the order of the XML schema. It says how XML and JSON correspond; package aasxml is driven by it.
package metamodel

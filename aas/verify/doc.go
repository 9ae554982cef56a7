// Package verify checks shells, submodels, concept descriptions and single elements against every
// constraint of the metamodel V3.1 (IDTA-01001), with the verification of aas-core.
package verify

// Package aasapi serves shells, submodels, concept descriptions, descriptors and asset links over the
// HTTP API of IDTA-01002 part 2 in version 3.1.2, and its older form 3.0: the repositories, the
// registries with their bulk changes, the AASX file server, discovery, serialization and the description of the service.
//
// Left out, and answered with 501: the services of one configured shell (/aas) and one configured
// submodel (/submodel), and queries in the AAS query language (/query).
package aasapi

// Package aasapi serves shells, submodels, concept descriptions, descriptors and asset links over the
// HTTP API of IDTA-01002 part 2 in version 3.1.2, and its older form 3.0: the repositories, the
// registries, discovery, serialization and the description of the service.
//
// Left out, and answered with 501: the services of one configured shell (/aas) and one configured
// submodel (/submodel), queries in the AAS query language (/query), bulk changes of the registries (/bulk),
// and the AASX file server (/packages).
package aasapi

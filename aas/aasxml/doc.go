// Package aasxml reads and writes environments as XML (IDTA-01001, part XML), by the table of the metamodel. It reads the
// namespaces 3/0, 3/1 and 3/2 of https://admin-shell.io/aas and writes 3/1, 3/2 for content that came with metamodel 3.2,
// or 3/0 for old readers. It checks the structure; package verify checks the constraints.
package aasxml

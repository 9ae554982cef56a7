// Package aasxml reads and writes environments as XML, after IDTA-01001 part "XML". It reads the
// namespaces https://admin-shell.io/aas/3/0 and https://admin-shell.io/aas/3/1 and writes 3/1, or 3/0 for
// old readers. Structure is checked, constraints are not: see package verify.
package aasxml

// Package derivedtest has the conformance suite of derived.Repository.
package derivedtest

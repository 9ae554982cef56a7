// Package ifmatch reads the header If-Match (RFC 9110, section 13.1.1) as a condition on the version of a
// document. The entity tag of a version is its number in quotes.
package ifmatch

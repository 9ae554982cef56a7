// Package derivedpart is the part of a server that computes tags from other tags.
package derivedpart

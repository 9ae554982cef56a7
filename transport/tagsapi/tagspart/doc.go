// Package tagspart is the part of a server for tags: the engine that reads and writes them, their
// history and their configuration.
package tagspart

// Package history stores the history of tag values.
//
// A [Recorder] observes the changes of a tag engine and writes them to a [Store] in batches; it never blocks the engine. [Memory]
// keeps samples in memory, package storage in a database, and package tagstest has a conformance suite for other stores.
// [Downsample] reduces samples to the points of a plot.
package history

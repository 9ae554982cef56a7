// Package repository stores asset administration shells, submodels, concept descriptions and descriptors.
//
// A [Service] is the API: a [Repository] for each kind of document, elements and their values, files, packages,
// operations, live values from tags, import of whole environments, and a [Subscription] to every change. It verifies
// what it stores and works on any [Store]; [NewMemory] returns one in memory, and package aastest has the suite that
// other stores must pass.
package repository

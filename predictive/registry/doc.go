// Package registry keeps trained models in a directory: [Registry] is predictive.Registry.
//
// # Files
//
// Version 3 of the model RUL has two files:
//
//	RUL_v3       the model
//	RUL_v3.json  its metadata: {"format": 1, "sha256": "...", "metadata": {...}}
//
// Each is written to a temporary file in the directory, synced and renamed, the model first: the metadata makes the version exist. A
// process that is killed leaves a version that is whole or absent. The metadata has the SHA-256 and the size of the model; the sha256
// beside it is that of the metadata in compact form. A version that does not match is damaged. It is never loaded: [Registry.Damaged]
// returns it, the log names it, and the version before it serves.
//
// Put removes models without metadata. RUL_v3.deleted remains when the highest version is deleted, so that its number is not used
// again. The process that writes holds a lock on registry.lock. Other files are not touched.
//
// # Versions
//
// Versions are numbered from 1 in the order of Put, by all processes together. The highest number is the newest version, whatever the
// time of its files. After a Put, versions are deleted until Options.Keep whole ones are left. The newer half of these are the newest versions, the others the
// first of each of the last days with any, so that many trainings in a day replace one of them at most. The one that serves is kept.
package registry

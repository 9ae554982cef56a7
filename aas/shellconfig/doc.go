// Package shellconfig holds the configuration of one shell whose submodels are made from the tags of a device, as a bridge has it: its
// ids, its nameplate, and which submodels it has. [Store] keeps it in a file and builds the environment of the standard from it.
package shellconfig

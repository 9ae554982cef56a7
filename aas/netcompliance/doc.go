// Package netcompliance is a submodel provider that says how far the network connection of an asset
// follows the rules of a plant. The embedder gives the facts; rules, in the spirit of IEC 62443-3-3,
// turn each into a level, and the overall level is the worst one.
package netcompliance

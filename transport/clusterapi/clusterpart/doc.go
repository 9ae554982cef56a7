// Package clusterpart is the part of a server for engines that share a plant: it joins them, and tells the other parts what of their work
// this engine does.
package clusterpart

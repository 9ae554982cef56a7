// Package clusterpart has the parts of a server for engines that share a plant: [Cluster] joins them, and tells the other parts what of their work
// this engine does; [Engines] shows them to people.
package clusterpart

// Package clusterapi serves the REST API of the engines that share a plant: who is there, who does what, what no engine does, and draining.
package clusterapi

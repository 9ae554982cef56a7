// Package clusterstore keeps the sessions, leases and losses of the engines of a plant in a database: [Store] is cluster.Store.
package clusterstore

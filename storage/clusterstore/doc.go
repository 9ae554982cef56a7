// Package clusterstore keeps the sessions and leases of the engines of a plant in a database: [Store] is cluster.Store.
package clusterstore

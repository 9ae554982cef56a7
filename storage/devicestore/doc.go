// Package devicestore keeps devices and the journal of their commands in a database: [Store] is devices.Store.
package devicestore

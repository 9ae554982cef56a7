// Package driverstore keeps the definitions of drivers in a database: [Store] is drivers.Repository.
package driverstore

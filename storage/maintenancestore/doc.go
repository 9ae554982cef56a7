// Package maintenancestore keeps the failures and replacements of equipments in a database: [Store] is predictive.RecordStore.
package maintenancestore

// Package auditstore stores the audit log in a database: [Store] is audit.Store.
//
// Engines that share a PostgreSQL append to one chain: each append locks the row of the chain's head, so group the entries
// (audit.Log does).
package auditstore

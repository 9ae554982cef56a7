// Package storage keeps every domain's data in SQLite or PostgreSQL. Packages sqlite and postgres
// open a database; DB gives the stores and owns all transactions.
//
// There are two sets of tables. State is what was acknowledged to somebody: a write returns when it
// is durable. History is the samples of tags, which are many, so that they are packed: see History.
// With SQLite each set has a file of its own and with PostgreSQL they share the database.
//
// To add a store for a further domain:
//
//   - put its tables into the next file of migrations/state; the SQL is for both databases, with
//     {{text}}, {{bytes}}, {{float}}, {{serial}} and {{key}} for the column types that differ, BIGINT
//     for whole numbers and for times (see Stamp), BOOLEAN for truth;
//   - name each table in tables.go, which backup and restore go by;
//   - write the store over DB.Update and DB.View, with ? for each argument, and give DB an accessor.
//     A transaction is serializable on both databases, so that reading and then writing is safe;
//   - run its conformance suite in the tests on both databases.
package storage

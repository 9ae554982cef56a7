// Package storage is the ground of all stores: it opens a database, owns its transactions, brings its tables to the
// newest version, and backs them up. The packages sqlite and postgres open one; a store such as tagstore or alarmstore
// adds a domain.
//
// A store has a [Schema], the tables of its domain, as a value. A program passes the schemas that it needs to Open and
// makes the stores over the database:
//
//	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, tagstore.Schema(), historystore.Schema())
//	history, err := historystore.New(db, historystore.Options{})
//
// There are two sets of tables. [State] is what was acknowledged: a write returns when it is durable. [History] is the
// samples of tags, which are many. With SQLite each set has a file of its own, with PostgreSQL they share a database.
//
// Each schema has a version of its own in the table schema_version, in the row set/name. Opening a database runs the
// migrations that are missing, in one transaction for each set and under a lock. A database that has a newer version
// of an open schema is refused.
//
// To write a store of your own:
//
//   - put the SQL of its tables into a folder migrations, see [Schema], and embed it;
//   - return the [Schema] from a function, and take the database in a constructor, which gets its [Set] from
//     [DB.SetOf];
//   - write the methods over [Set.Update] and [Set.View], with ? for each argument. Integers and times are BIGINT, see
//     [Timestamp]; truth values are BOOLEAN.
//   - run its conformance suite in the tests on both databases.
package storage

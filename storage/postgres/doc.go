// Package postgres opens a PostgreSQL database (version 13 or later) that one or several engines
// share. State and history are tables of the one database, in the schema that the connection's
// search_path names first.
package postgres

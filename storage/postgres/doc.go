// Package postgres opens a PostgreSQL database (version 13 or later) that one or several engines
// share. State and history are tables of the one database, in the schema that the connection's
// search_path names first.
//
// A server that falls silent, as one does that has lost its power, is noticed within half a minute on Linux
// and some minutes elsewhere: its connections fail, and new ones are tried.
package postgres

// Package alertstore keeps silences, the history of alerts and the outbox of notifications in a database.
package alertstore

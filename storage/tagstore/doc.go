// Package tagstore keeps the log of writes to tags in a database.
package tagstore

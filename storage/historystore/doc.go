// Package historystore keeps the samples of tags in a database, compressed in chunks.
package historystore

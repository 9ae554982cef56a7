// Package tagconfigstore keeps the tag configuration in a database.
package tagconfigstore

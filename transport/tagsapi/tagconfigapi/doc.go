// Package tagconfigapi serves the REST API of the configuration of tags: reading, bulk changes,
// spreadsheets.
package tagconfigapi

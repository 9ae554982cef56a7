// Package predictivepart is the part of a server for predictions: the service over the history and the configuration of tags, its models
// and records.
package predictivepart

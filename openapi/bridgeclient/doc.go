// Package bridgeclient is the REST client that is generated from the OpenAPI document of the bridge.
//
// A method that ends in WithResponse returns the decoded body for each status that the document has: JSON200 is nil if the answer
// has another status.
package bridgeclient

// Package client is the REST client that is generated from the OpenAPI document of the engine.
//
// A method that ends in WithResponse returns the decoded body for each status that the document has: JSON200 is nil if the answer
// has another status. [Limit] is the one type that is not generated.
package client

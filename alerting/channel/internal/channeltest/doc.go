// Package channeltest has what the tests of channels share: a message, a peer that records requests, and the
// cases that every channel over HTTP must handle.
package channeltest

// Package channeltest has what the tests of channels share: a message, a peer that records what it is
// sent, and the cases that every channel over HTTP must get right.
package channeltest

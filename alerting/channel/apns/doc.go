// Package apns is the channel that pushes to Apple's devices, over HTTP/2 with a provider token.
package apns

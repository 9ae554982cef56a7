// Package apns is the channel that sends push messages to Apple devices, over HTTP/2 with a provider token.
package apns

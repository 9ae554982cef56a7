// Package line is the channel that sends messages from a LINE official account.
package line

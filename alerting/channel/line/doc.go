// Package line is the channel that sends messages by a LINE official account.
package line

// Package fanout sends one message to several recipients of a channel, each of whom may fail alone.
package fanout

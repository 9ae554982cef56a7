// Package recipients has the list of a channel's recipients: their keys, which may be stored and shown, and their
// addresses, which may be secrets.
package recipients

// Package recipients knows the recipients of a channel: by keys that may be stored and shown, and their
// addresses, which may be secrets.
package recipients

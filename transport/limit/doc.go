// Package limit counts calls by who makes them, and refuses those that come too fast.
package limit

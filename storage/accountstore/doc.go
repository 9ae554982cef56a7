// Package accountstore stores accounts, sessions and the public keys of engines in a database.
package accountstore

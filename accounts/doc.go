// Package accounts is the domain of who may use the platform: accounts, passwords, roles and login
// sessions. It knows nothing of HTTP or of token formats; package transport/auth makes access
// tokens out of the sessions that [Service] opens.
package accounts

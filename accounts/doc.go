// Package accounts manages who may use the platform: accounts, passwords, roles and login sessions. It is independent of
// HTTP and of token formats; package transport/auth issues access tokens for the sessions that [Service] opens.
package accounts

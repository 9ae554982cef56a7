// Package accountspart is the part of a server for accounts: logins, sessions and signing keys. Its
// [Accounts.Authenticator] lets the tokens of accounts, and those of an OpenID Connect issuer, in.
package accountspart

// Package auth turns accounts into access tokens and access tokens into permission.
//
// [Keys] are the signing keys in the data directory. [Authority] issues access tokens for the
// sessions of package accounts, and verifies them and those of an outside OpenID Connect issuer.
// [Guard] checks every call of both transports against one [Table] of operations before anything
// of the call is read; what the table does not list cannot be served.
//
// # Choice of algorithm
//
// Tokens are signed with ES256 (ECDSA on P-256): it is required or recommended by RFC 7518, known
// to every JWT library and API gateway, and its tokens are small. Ed25519 verifies a quarter
// faster, but many gateways cannot; RS256 verifies twice as fast and makes tokens four times as
// long to sign. It hardly matters here: a token's signature is checked once and remembered.
package auth

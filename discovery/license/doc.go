// Package license signs and checks the license keys of bridges. Keys are signed with Ed25519 and checked without a network.
//
// A key is three parts with dots between: "otkit1", the payload, and the signature of the text before the second dot. Payload
// and signature are base64url without padding; the payload is the JSON of a [License]. A vendor signs keys with [Sign] and
// gives the public key to those who run bridges, who name it in the setting License__PublicKeys.
package license

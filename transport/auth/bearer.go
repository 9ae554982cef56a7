package auth

import "strings"

// bearer reads the token out of the values of an Authorization header or of gRPC metadata
// (RFC 6750, section 2.1). It returns "" when there is none, and false for a value that is not a bearer
// token or for more than one.
func bearer(values []string) (token string, ok bool) {
	switch len(values) {
	case 0:
		return "", true
	case 1:
	default:
		return "", false
	}
	scheme, rest, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.Trim(rest, " ")
	return token, isToken(token)
}

// isToken reports whether s consists of characters of b64token (RFC 6750).
func isToken(s string) bool {
	if s == "" || len(s) > maxToken {
		return false
	}
	for i := range len(s) {
		if !tokenChars[s[i]] {
			return false
		}
	}
	return true
}

// tokenChars is a table because every call has a token of hundreds of bytes.
var tokenChars = func() (table [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/=") {
		table[c] = true
	}
	return table
}()

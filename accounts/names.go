package accounts

import "strings"

const maxNameLength = 64

// FoldName returns the form of an account name that stores compare: two names are the same account
// when their folded forms are equal. Names are ASCII, so it is the lower case of ASCII letters.
func FoldName(name string) string { return strings.ToLower(name) }

// ValidName reports whether an account may have the name: 1 to 64 ASCII letters, digits and ._@-
func ValidName(name string) bool {
	if name == "" || len(name) > maxNameLength {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == '@', c == '-':
		default:
			return false
		}
	}
	return true
}

// Valid reports whether the role is one of the three.
func (r Role) Valid() bool { return r.rank() > 0 }

// Includes reports whether a caller with this role may do what needs the other role. A role that is not one of the three
// includes nothing and is included by nothing.
func (r Role) Includes(needed Role) bool { return needed.Valid() && r.rank() >= needed.rank() }

// ParseRole returns the role of a name, in any case.
func ParseRole(name string) (Role, bool) {
	for _, r := range [...]Role{Viewer, Operator, Admin} {
		if strings.EqualFold(name, string(r)) {
			return r, true
		}
	}
	return "", false
}

func (r Role) rank() int {
	switch r {
	case Viewer:
		return 1
	case Operator:
		return 2
	case Admin:
		return 3
	}
	return 0
}

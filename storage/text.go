package storage

import "strings"

// Text returns s in a form that a text column of every database takes: invalid UTF-8 and zero bytes are replaced.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Distinct returns list without the items whose key came before.
func Distinct[T any, K comparable](list []T, key func(T) K) []T {
	if len(list) < 2 {
		return list
	}
	seen := make(map[K]struct{}, len(list))
	out := make([]T, 0, len(list))
	for _, item := range list {
		k := key(item)
		if _, again := seen[k]; !again {
			seen[k] = struct{}{}
			out = append(out, item)
		}
	}
	return out
}

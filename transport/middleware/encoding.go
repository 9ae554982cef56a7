package middleware

import (
	"strconv"
	"strings"
)

// AcceptsGzip reports whether a header Accept-Encoding allows gzip (RFC 9110, 12.5.3). Without one nothing is compressed:
// clients that can read it say so.
func AcceptsGzip(header string) bool {
	wildcard := false
	for _, one := range strings.Split(header, ",") {
		coding, params, _ := strings.Cut(one, ";")
		coding = strings.TrimSpace(coding)
		named := strings.EqualFold(coding, "gzip") || strings.EqualFold(coding, "x-gzip")
		if !named && coding != "*" {
			continue
		}
		allowed := weight(params) > 0
		if named {
			return allowed
		}
		wildcard = allowed
	}
	return wildcard
}

// weight returns the parameter q, 1 without one and 0 for one that is malformed.
func weight(params string) float64 {
	for _, p := range strings.Split(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0
			}
			return q
		}
	}
	return 1
}

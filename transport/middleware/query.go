package middleware

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/otkit/otkit/internal/timestamp"
)

// DropEmptyQuery removes query members without a value from a request: they count as absent.
//
// The offset of a time may have a blank for its +, which clients forget to encode, and may lack its
// colon, which generated clients omit.
func DropEmptyQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if query := withoutEmptyMembers(r.URL.RawQuery); query != r.URL.RawQuery {
			u := *r.URL
			u.RawQuery = query
			r2 := *r
			r2.URL = &u
			r = &r2
		}
		next.ServeHTTP(w, r)
	})
}

func withoutEmptyMembers(query string) string {
	if query == "" {
		return query
	}
	var kept []string
	for member := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(member, "=")
		switch {
		case value == "":
			continue
		case isTime[name]:
			if plain, err := url.QueryUnescape(value); err == nil {
				member = name + "=" + url.QueryEscape(timestamp.Normalize(plain))
			}
		}
		kept = append(kept, member)
	}
	return strings.Join(kept, "&")
}

var isTime = map[string]bool{"start": true, "end": true, "startDate": true, "endDate": true}

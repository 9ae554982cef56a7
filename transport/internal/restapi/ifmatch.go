package restapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// ETag returns the entity tag of a revision.
func ETag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// ContentETag returns the JSON form of what has no revision, and its entity tag, which is that of what it says.
func ContentETag(v any) (body []byte, tag string, err error) {
	if body, err = json.Marshal(v); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(body)
	return body, `"` + hex.EncodeToString(sum[:16]) + `"`, nil
}

// Precondition returns the condition of the values of the header If-Match on the entity tag of what is to be changed: it returns changed for
// one that does not fit, and an ErrInvalidRequest for values that could never fit. Without the header it is nil.
func Precondition(values []string, changed error) func(etag string) error {
	holds := ifMatch(values)
	if holds == nil {
		return nil
	}
	return func(etag string) error {
		if err := unquoted(values); err != nil {
			return err
		}
		if !holds(etag) {
			return changed
		}
		return nil
	}
}

type ifMatchKey struct{}

// KeepIfMatch is a middleware of generated servers, which do not tell an empty header If-Match from an absent one. [IfMatchOf] returns its
// values.
func KeepIfMatch[F ~func(context.Context, http.ResponseWriter, *http.Request, any) (any, error)](next F, _ string) F {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		return next(context.WithValue(ctx, ifMatchKey{}, r.Header.Values("If-Match")), w, r, request)
	}
}

// IfMatchOf returns the values that [KeepIfMatch] has kept.
func IfMatchOf(ctx context.Context) []string {
	values, _ := ctx.Value(ifMatchKey{}).([]string)
	return values
}

// ifMatch returns whether the values of the header If-Match (RFC 9110, section 13.1.1) allow a change of what has an entity tag. Without
// the header it is nil: any may be changed. A weak tag matches none, and neither does a header without a tag, which unquoted refuses.
func ifMatch(values []string) func(etag string) bool {
	var list []string
	for _, value := range values {
		quoted := false
		for one := range strings.FieldsFuncSeq(value, func(r rune) bool {
			if r == '"' {
				quoted = !quoted
			}
			return r == ',' && !quoted
		}) {
			if one = strings.TrimSpace(one); one != "" {
				list = append(list, one)
			}
		}
	}
	switch {
	case len(values) == 0:
		return nil
	case slices.Contains(list, "*"):
		return func(string) bool { return true }
	}
	return func(etag string) bool { return slices.Contains(list, etag) }
}

// unquoted returns an error if a value of If-Match is an entity tag without its quotes or empty, which would never match.
func unquoted(values []string) error {
	for _, v := range values {
		v = strings.TrimSpace(v)
		switch {
		case strings.Trim(v, ", ") == "": // such as a variable of a script that is not set: it did not mean to change anything
			return problem.ErrInvalidRequest.Invalid(fault.Field{Field: "If-Match", Message: "must not be empty: send an ETag with its quotes, * or no such header"})
		case v != "*" && !strings.Contains(v, `"`):
			return problem.ErrInvalidRequest.Invalid(fault.Field{Field: "If-Match", Message: `must be an ETag with its quotes, such as "` + v[:min(len(v), 40)] + `"`})
		}
	}
	return nil
}

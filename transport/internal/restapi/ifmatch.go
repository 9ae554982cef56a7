package restapi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// ETag returns the entity tag of a revision.
func ETag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// IfMatch returns whether the values of the header If-Match (RFC 9110, section 13.1.1) allow a change of what has an entity tag. Without
// the header it is nil: any may be changed. A weak tag matches none, and neither does a header without a tag, which [Unquoted] refuses.
func IfMatch(values []string) func(etag string) bool {
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

// Unquoted returns an error if a value of If-Match is an entity tag without its quotes or empty, which would never match.
func Unquoted(values []string) error {
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

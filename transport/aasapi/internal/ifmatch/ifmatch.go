package ifmatch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

const (
	most  = 100       // entity tags in one request
	never = 1<<64 - 1 // no document is in this version
)

// Tag returns the entity tag of a version.
func Tag(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// Parse returns the condition for the values of the header; no values, and empty ones, are no condition. A
// list holds when the document is in the version of any of its tags; what is no tag of ours matches no
// version, as a weak one does. current returns the version that the document is in, 0 when it is not there;
// it is asked only for a list. The error is that of current, or [aas.ErrInvalidRequest] for more than 100
// tags.
func Parse(values []string, current func() (uint64, error)) (repository.Match, error) {
	list := tags(values)
	switch {
	case len(list) == 0:
		return repository.Match{}, nil
	case len(list) > most:
		return repository.Match{}, aas.ErrInvalidRequest.Invalid(fault.Field{Field: "If-Match", Message: "must have no more than 100 entity tags"})
	case len(list) == 1 && list[0] == "*":
		return repository.Match{Exists: true}, nil
	case len(list) == 1:
		return repository.Match{Version: version(list[0])}, nil
	}
	now, err := current()
	if err != nil {
		return repository.Match{}, err
	}
	if now != 0 && slices.Contains(list, Tag(now)) {
		return repository.Match{Version: now}, nil
	}
	return repository.Match{Version: never}, nil
}

// tags splits lists at the commas that are not within quotes.
func tags(values []string) (list []string) {
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
	return list
}

func version(tag string) uint64 {
	v, err := strconv.ParseUint(strings.Trim(tag, `"`), 10, 64)
	if err != nil || v == 0 || Tag(v) != tag {
		return never
	}
	return v
}

package alarmstest

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
)

// Write checks what the store under test found before change gets it, so that no part of the suite meets a value that the
// contract excludes.
func (s *store) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	return s.Store.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		if len(found) != len(refs) {
			return alarms.Changes{}, fmt.Errorf("%d refs have %d results", len(refs), len(found))
		}
		for i, f := range found {
			if !matches(refs[i], f) {
				return alarms.Changes{}, fmt.Errorf("result of Ref %+v: Occurrence must be Condition.Last for a Ref by Key or Code, and the occurrence itself for a Ref by ID; "+
					"without a Condition there is none", refs[i])
			}
		}
		return change(next, found)
	})
}

// matches reports whether f is a result that r may have.
func matches(r alarms.Ref, f alarms.RefResult) bool {
	switch {
	case f.Condition == nil:
		return f.Occurrence == nil
	case r.ID == "":
		return f.Occurrence == f.Condition.Last
	case f.Occurrence == nil || f.Condition.Last == nil || f.Occurrence.ID != r.ID:
		return false
	}
	return f.Occurrence == f.Condition.Last || f.Occurrence.ID != f.Condition.Last.ID
}

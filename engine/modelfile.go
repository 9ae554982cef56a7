package engine

import (
	"strconv"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/tags/tagconfig"
)

// onModelFile records what somebody has changed in the model file with an editor. next may be nil.
func (e *Engine) onModelFile(next func(tagconfig.FileEdit)) func(tagconfig.FileEdit) {
	return func(edit tagconfig.FileEdit) {
		objects := make([]string, len(edit.Changes))
		for i, c := range edit.Changes {
			objects[i] = c.TagID
		}
		before, after := edit.Values()
		e.audit.Log().Record(audit.Act{Actor: audit.System, Via: "internal", Action: "modelFileEdit", Objects: objects,
			Before: audit.JSON(before), After: audit.JSON(after)},
			audit.Result{Outcome: audit.Succeeded, Detail: strconv.Itoa(edit.Total) + " tags changed"})
		if next != nil {
			next(edit)
		}
	}
}

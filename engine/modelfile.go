package engine

import (
	"context"
	"strconv"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/recorder"
)

// onModelFile records what somebody has changed in the model file with an editor. next may be nil.
func (e *Engine) onModelFile(next func(tagconfig.FileEdit)) func(tagconfig.FileEdit) {
	return func(edit tagconfig.FileEdit) {
		e.recordEdit(audit.Act{Actor: audit.System, Via: "internal", Action: "modelFileEdit"}, edit)
		if next != nil {
			next(edit)
		}
	}
}

// onImport records what an import has changed: of a file, the record of the call has the size. next may be nil.
func (e *Engine) onImport(next func(context.Context, tagconfig.FileEdit)) func(context.Context, tagconfig.FileEdit) {
	return func(ctx context.Context, edit tagconfig.FileEdit) {
		e.recordEdit(recorder.Act(ctx, "http", "tagImport"), edit)
		if next != nil {
			next(ctx, edit)
		}
	}
}

func (e *Engine) recordEdit(act audit.Act, edit tagconfig.FileEdit) {
	act.Objects = make([]string, len(edit.Changes))
	for i, c := range edit.Changes {
		act.Objects[i] = c.TagID
	}
	before, after := edit.Values()
	act.Before, act.After = audit.JSON(before), audit.JSON(after)
	e.audit.Log().Record(act, audit.Result{Outcome: audit.Succeeded, Detail: strconv.Itoa(edit.Total) + " tags changed"})
}

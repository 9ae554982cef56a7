package tagconfigapi

import (
	"context"

	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes changes of the tag configuration to the audit log. The values before are those of the tags that a bulk
// update names. An import is a file: its record has the size, and the answer's counts.
func Audited(store *tagconfig.Store) map[string]audited.Description {
	return map[string]audited.Description{
		"bulkTagConfig": {Objects: named, Before: func(_ context.Context, c audited.Call) any {
			var before []tagconfig.Config
			for _, id := range named(c) {
				if known, err := store.Get(id); err == nil {
					before = append(before, known)
				}
			}
			if before == nil {
				return nil
			}
			return before
		}},
		"importTagConfig": {Detail: true},
	}
}

func named(c audited.Call) (ids []string) {
	var items []struct{ TagID string }
	c.Decode(&items)
	for _, item := range items {
		ids = append(ids, item.TagID)
	}
	return ids
}

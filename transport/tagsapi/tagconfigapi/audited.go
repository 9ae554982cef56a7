package tagconfigapi

import (
	"context"

	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/audited"
)

// mostAudited is how many changed tags have their values before in one record.
const mostAudited = 100

// Audited describes changes of the tag configuration to the audit log. The values before are, of the first 100 tags that change, those
// of the members that change, and how many tags change. An import is a file: its record has the size and the beginning of the answer, and
// [Options.OnImport] gets what has changed.
func Audited(store *tagconfig.Store) map[string]audited.Description {
	return map[string]audited.Description{
		"bulkTagConfig": {Objects: named, Before: func(_ context.Context, c audited.Call) any {
			var items tagconfig.Items
			c.Decode(&items)
			return before(store, items)
		}},
		"putTagConfigItem": {Before: func(_ context.Context, c audited.Call) any {
			item := tagconfig.Config{TagID: c.Param("tagId")}
			c.Decode(&item)
			return before(store, []tagconfig.Config{item})
		}},
		"removeTagConfigItem": {Before: func(_ context.Context, c audited.Call) any {
			return removed(store, []string{c.Param("tagId")})
		}},
		"removeTagConfig": {Objects: listed, Before: func(_ context.Context, c audited.Call) any { return removed(store, listed(c)) }},
		"importTagConfig": {Detail: true},
	}
}

type values struct {
	Tags    map[string]map[string]any `json:"tags"`
	Changed int                       `json:"changed"`
}

// before returns the values that items would change of tags that are known; nil if there are none.
func before(store *tagconfig.Store, items []tagconfig.Config) any {
	v := values{Tags: map[string]map[string]any{}}
	for i := range items {
		known, err := store.Get(items[i].TagID)
		if err != nil {
			continue
		}
		fields := tagconfig.ItemChange{TagID: items[i].TagID, Old: &known, New: &items[i]}.Fields()
		if len(fields) == 0 {
			continue
		}
		if v.Changed++; v.Changed > mostAudited {
			continue
		}
		old := map[string]any{}
		for _, f := range fields {
			old[f.Field] = f.Old
		}
		v.Tags[items[i].TagID] = old
	}
	if v.Changed == 0 {
		return nil
	}
	return v
}

func removed(store *tagconfig.Store, ids []string) any {
	var v struct {
		Tags    []tagconfig.Config `json:"tags"`
		Removed int                `json:"removed"`
	}
	for _, id := range ids {
		if configured, _ := store.IsConfigured(id); !configured {
			continue
		}
		if v.Removed++; v.Removed > mostAudited {
			continue
		}
		if c, err := store.Get(id); err == nil {
			v.Tags = append(v.Tags, c)
		}
	}
	if v.Removed == 0 {
		return nil
	}
	return v
}

func named(c audited.Call) (ids []string) {
	var items []struct{ TagID string }
	c.Decode(&items)
	for _, item := range items {
		ids = append(ids, item.TagID)
	}
	return ids
}

func listed(c audited.Call) []string {
	var body struct{ TagIDs []string }
	c.Decode(&body)
	return body.TagIDs
}

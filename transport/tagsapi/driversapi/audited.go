package driversapi

import (
	"context"
	"strconv"

	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/transport/audited"
)

// mostAudited is how many removed tags one record names.
const mostAudited = 100

// removed is a driver that is removed with its configured tags.
type removed struct {
	*definition
	Tags     []string `json:"removedTags,omitempty"` // the first 100
	TagCount int      `json:"removedTagCount,omitempty"`
}

// Audited describes changes of drivers to the audit log. What was secret in the settings is masked there, too. tagsOf returns the ids of the
// configured tags of a driver, which a removal may remove with it; nil for none.
func Audited(service *drivers.Service, tagsOf func(driverID string) []string) map[string]audited.Description {
	before := func(_ context.Context, c audited.Call) any {
		i, err := service.Get(c.Param("id"))
		if err != nil {
			return nil
		}
		return shown(&i.Definition)
	}
	masked := func(c audited.Call) any {
		var d definition
		if !c.Decode(&d) {
			return nil
		}
		d.Settings = service.Masked(d.Type, d.Settings)
		return d
	}
	removal := func(_ context.Context, c audited.Call) any {
		var gone removed
		if i, err := service.Get(c.Param("id")); err == nil {
			d := shown(&i.Definition)
			gone.definition = &d
		}
		if withTags, _ := strconv.ParseBool(c.Query("tags")); withTags && tagsOf != nil {
			ids := tagsOf(c.Param("id"))
			gone.Tags, gone.TagCount = ids[:min(len(ids), mostAudited)], len(ids)
		}
		if gone.definition == nil && gone.TagCount == 0 {
			return nil
		}
		return gone
	}
	body := func(c audited.Call) []string {
		var d definition
		c.Decode(&d)
		return []string{d.ID}
	}
	return map[string]audited.Description{
		"createDriver":         {Objects: body, After: masked},
		"replaceDriver":        {Before: before, After: masked},
		"deleteDriver":         {Before: removal},
		"testDriverDefinition": {Objects: body, After: masked},
	}
}

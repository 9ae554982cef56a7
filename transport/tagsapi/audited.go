package tagsapi

import (
	"context"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes the writes to tags of an engine to the audit log. A write is recorded when it is queued; its outcome at
// the device is in the log of writes, by the id in the record's detail.
func Audited(engine *tags.Engine) map[string]audited.Description {
	before := func(names func(audited.Call) []string) func(context.Context, audited.Call) any {
		return func(_ context.Context, c audited.Call) any { return values(engine, names(c)) }
	}
	one := func(c audited.Call) []string {
		driver, address := c.Param("driver_id"), c.Param("address")
		if name, err := engine.Resolve(driver, address); err == nil {
			return []string{name}
		}
		return []string{driver + "." + address}
	}
	many := func(c audited.Call) (names []string) {
		var body struct{ Writes []struct{ TagName string } }
		c.Decode(&body)
		for _, w := range body.Writes {
			names = append(names, w.TagName)
		}
		return names
	}
	return map[string]audited.Description{
		"writeTag":  {Objects: one, Before: before(one), Detail: true},
		"writeTags": {Objects: many, Before: before(many), Detail: true},
	}
}

// values returns the values of tags by name; nil when none is known.
func values(engine *tags.Engine, names []string) any {
	known := make(map[string]tags.Value, len(names))
	for _, name := range names {
		if s, err := engine.Read(name); err == nil && !s.Sample.Value.IsZero() {
			known[name] = s.Sample.Value
		}
	}
	if len(known) == 0 {
		return nil
	}
	return known
}

package derivedapi

import (
	"context"

	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes changes of derived tags to the audit log.
func Audited(service *derived.Service) map[string]audited.Description {
	before := func(_ context.Context, c audited.Call) any {
		d, err := service.Get(c.Param("id"))
		if err != nil {
			return nil
		}
		return d.Definition
	}
	return map[string]audited.Description{
		"addDerivedTag":     {Detail: true, Objects: func(c audited.Call) []string { return named(c) }},
		"replaceDerivedTag": {Before: before},
		"removeDerivedTag":  {Before: before},
	}
}

func named(c audited.Call) []string {
	var body struct{ ID string }
	if !c.Decode(&body) || body.ID == "" {
		return nil
	}
	return []string{body.ID}
}

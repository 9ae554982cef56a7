package driversapi

import (
	"context"

	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes changes of drivers to the audit log. What was secret in the settings is masked there, too.
func Audited(service *drivers.Service) map[string]audited.Description {
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
	body := func(c audited.Call) []string {
		var d definition
		c.Decode(&d)
		return []string{d.ID}
	}
	return map[string]audited.Description{
		"createDriver":         {Objects: body, After: masked},
		"replaceDriver":        {Before: before, After: masked},
		"deleteDriver":         {Before: before},
		"testDriverDefinition": {Objects: body, After: masked},
	}
}

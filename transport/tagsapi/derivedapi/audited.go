package derivedapi

import (
	"context"

	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagtemplate"
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes changes of derived tags and templates to the audit log.
func Audited(service *derived.Service, templates *tagtemplate.Service) map[string]audited.Description {
	before := func(_ context.Context, c audited.Call) any {
		d, err := service.Get(c.Param("id"))
		if err != nil {
			return nil
		}
		return d.Definition
	}
	template := func(_ context.Context, c audited.Call) any {
		t, err := templates.Template(c.Param("id"))
		if err != nil {
			return nil
		}
		return t.Template
	}
	instance := func(_ context.Context, c audited.Call) any {
		in, err := templates.Instance(c.Param("id"), c.Param("instanceId"))
		if err != nil {
			return nil
		}
		return in.Instance
	}
	return map[string]audited.Description{
		"addTagTemplate":            {Objects: named},
		"replaceTagTemplate":        {Before: template, Detail: true},
		"removeTagTemplate":         {Before: template},
		"putTagTemplateInstance":    {Before: instance, Detail: true},
		"removeTagTemplateInstance": {Before: instance},
		"addDerivedTag":             {Detail: true, Objects: named},
		"replaceDerivedTag":         {Before: before},
		"removeDerivedTag":          {Before: before},
	}
}

func named(c audited.Call) []string {
	var body struct{ ID string }
	if !c.Decode(&body) || body.ID == "" {
		return nil
	}
	return []string{body.ID}
}

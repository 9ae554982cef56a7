package tagtemplate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagtemplate"
)

// BenchmarkInstance replaces one of 1,000 instances of a template with ten tags and two derived tags, in memory.
func BenchmarkInstance(b *testing.B) {
	service, _ := thousand(b)
	for i := 0; b.Loop(); i++ {
		values := map[string]json.RawMessage{"base": fmt.Appendf(nil, "%d", i)}
		plan, _, err := service.PutInstance(b.Context(), "device", tagtemplate.Instance{ID: "d7", Values: values}, tagtemplate.Edit{})
		if err != nil || len(plan.Added)+len(plan.Removed) > 0 {
			b.Fatal(plan, err)
		}
	}
}

// BenchmarkTemplate changes a unit and an expression in the template of 1,000 such instances: 1,000 tags and 1,000 derived tags.
func BenchmarkTemplate(b *testing.B) {
	service, device := thousand(b)
	for i := 0; b.Loop(); i++ {
		device.Tags[0]["unit"] = fmt.Appendf(nil, "%q", fmt.Sprint("u", i))
		device.DerivedTags[0]["expression"] = must(b, fmt.Sprintf(`tag("${instance}.t1") * %d`, i+3))
		plan, err := service.Replace(b.Context(), device, tagtemplate.Edit{})
		if err != nil || len(plan.Changed) != 2000 {
			b.Fatal(len(plan.Changed), err)
		}
	}
}

// thousand returns a service with 1,000 instances of a template.
func thousand(b *testing.B) (*tagtemplate.Service, tagtemplate.Template) {
	b.Helper()
	engine, err := tags.New(tags.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = engine.Close(context.Background()) })
	computed, err := derived.New(b.Context(), engine, derived.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(computed.Close)
	repository := derived.NewMemory()
	var device tagtemplate.Template
	text := `{"id": "device", "parameters": [{"name": "base", "type": "Int"}], "tags": [`
	for i := range 10 {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"tagId": "${instance}.t%d", "driverId": "plc", "address": "HR:${base+%d}", "dataType": "Float"}`, i, i)
	}
	text += `], "derivedTags": [{"id": "${instance}.a", "expression": "tag(\"${instance}.t1\") * 2", "dataType": "Float"},
		{"id": "${instance}.b", "expression": "tag(\"${instance}.a\") + tag(\"${instance}.t2\")", "dataType": "Float"}]}`
	if err := json.Unmarshal([]byte(text), &device); err != nil {
		b.Fatal(err)
	}
	put := []derived.Document{{Kind: "tag-template", ID: "device", Revision: 1, Body: must(b, device)}}
	for i := range 1000 {
		id := fmt.Sprintf("d%d", i)
		put = append(put, derived.Document{Kind: "tag-template-instance", ID: "device/" + id, Revision: 1,
			Body: fmt.Appendf(nil, `{"id": %q, "values": {"base": %d}}`, id, i)})
	}
	if _, err := repository.Change(b.Context(), put, nil); err != nil {
		b.Fatal(err)
	}
	service, err := tagtemplate.New(b.Context(), computed, tagtemplate.Options{Repository: repository})
	if err != nil {
		b.Fatal(err)
	}
	return service, device
}

func must(b *testing.B, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return body
}

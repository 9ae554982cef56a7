package tagtemplate_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagtemplate"
)

func Example() {
	ctx := context.Background()
	engine, err := tags.New(tags.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = engine.Close(ctx) }()
	computed, err := derived.New(ctx, engine, derived.Options{})
	if err != nil {
		panic(err)
	}
	defer computed.Close()
	service, err := tagtemplate.New(ctx, computed, tagtemplate.Options{SetTags: func(list []tags.Tag) error { return engine.DefineTags(list...) }})
	if err != nil {
		panic(err)
	}
	var pump tagtemplate.Template
	text := `{"id": "pump", "parameters": [{"name": "base", "type": "Int"}],
		"tags": [{"tagId": "${instance}.speed", "driverId": "plc1", "address": "HR:${base+1}", "dataType": "Float"}]}`
	if err := json.Unmarshal([]byte(text), &pump); err != nil {
		panic(err)
	}
	if _, err := service.Create(ctx, pump, tagtemplate.Edit{}); err != nil {
		panic(err)
	}
	plan, _, err := service.PutInstance(ctx, "pump", tagtemplate.Instance{ID: "pump1", Values: map[string]json.RawMessage{"base": json.RawMessage(`100`)}}, tagtemplate.Edit{})
	if err != nil {
		panic(err)
	}
	s, err := engine.Read("pump1.speed")
	fmt.Println(plan.Added, s.Tag.Address, err)
	// Output: [pump1.speed] HR:101 <nil>
}

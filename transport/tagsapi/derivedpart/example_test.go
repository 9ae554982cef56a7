package derivedpart_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/transport/tagsapi/derivedpart"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	all, err := tagspart.New(ctx, tagspart.Options{ModelPath: filepath.Join(dir, "model.json")})
	if err != nil {
		panic(err)
	}
	defer func() { _ = all.Part().Drain(ctx) }()
	if err := all.Engine().DefineTags(tags.Tag{Name: "line1.flow", Driver: "line1", DataType: tags.Float}); err != nil {
		panic(err)
	}
	part, err := derivedpart.New(ctx, all, derivedpart.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = part.Part().Close(ctx) }()
	_, err = part.Service().Create(ctx, derived.Definition{ID: "line1.hourly", Expression: `tag("line1.flow") * 60`}, false)
	if err != nil {
		panic(err)
	}
	s, found := all.Current("line1.hourly")
	fmt.Println(found, s.Tag.Driver, s.Tag.DataType)
	// Output: true derived Float
}

package registry_test

import (
	"context"
	"fmt"
	"os"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/registry"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	models, err := registry.Open(registry.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	meta := predictive.Meta{ModelType: predictive.RULModel, Kind: "mine", Default: true}
	if _, err := models.Put(ctx, meta, []byte("model")); err != nil {
		panic(err)
	}
	meta, model, err := models.Get(ctx, predictive.RULModel, 0)
	files, _ := os.ReadDir(dir)
	fmt.Println(predictive.FormatVersion(meta.Version), string(model), err)
	fmt.Println(files)
	// Output:
	// v1 model <nil>
	// [- RUL_v1 - RUL_v1.json - registry.lock]
}

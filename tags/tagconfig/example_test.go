package tagconfig_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
)

func Example() {
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	store, err := tagconfig.Open(context.Background(), tagconfig.Options{
		Path:     filepath.Join(dir, "config", "equipment_model.json"),
		OnChange: func(e tagconfig.Edit) { fmt.Println("changed:", len(e.Put)) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	count, err := store.Bulk(context.Background(), []tagconfig.Config{
		{TagID: "plc.speed", DriverID: "plc", Address: "40001", DataType: tags.Int, Unit: "rpm"},
		{TagID: "plc.level", DriverID: "plc", Address: "40002", DataType: tags.Float, ScalingFactor: tags.Ptr(0.1)},
	})
	fmt.Println(count, err)
	for _, c := range store.List() {
		fmt.Println(c.TagID, c.DataType, c.Address)
	}
	_, err = store.Bulk(context.Background(), []tagconfig.Config{{TagID: "plc.flow", DataType: tags.Float}})
	fmt.Println(err)
	// Output:
	// changed: 2
	// 2 <nil>
	// plc.level Float 40002
	// plc.speed Int 40001
	// tag configuration is not valid: [0].driverId is required
}

package shellconfig_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/tags"
)

func Example() {
	dir, err := os.MkdirTemp("", "otkit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := shellconfig.New(shellconfig.Options{
		File:    filepath.Join(dir, "aas.json"),
		Default: shellconfig.Config{ID: "urn:plant:pump-7", IDShort: "Pump7", GlobalAssetID: "urn:plant:asset:pump-7"},
		Tags: func() []tags.Tag {
			return []tags.Tag{{Name: "pump.flow", Driver: "pump", DataType: tags.Float, Unit: "l/min"}}
		},
	})
	if err != nil {
		panic(err)
	}
	config, version := s.Get()
	fmt.Println(config.ActiveSubmodels)

	config.Nameplate.ManufacturerName = "Acme Pumps"
	config.ActiveSubmodels = []string{"OperationalData", "Nameplate"}
	if _, _, err := s.Put(context.Background(), config, func(now string) bool { return now == version }); err != nil {
		panic(err)
	}
	for _, m := range s.Environment().Submodels {
		fmt.Println(m.ID, m.Elements[0].Common().IDShort)
	}
	// Output:
	// [OperationalData TimeSeries]
	// urn:plant:pump-7:OperationalData flow
	// urn:plant:pump-7:Nameplate ManufacturerName
}

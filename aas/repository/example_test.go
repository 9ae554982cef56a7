package repository_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

func ExampleService() {
	ctx := context.Background()
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = service.Close(context.Background()) }()
	shell := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:example:pump:7"}}
	shell.ID, shell.IDShort = "urn:example:aas:7", "Pump7"
	if _, err := service.Shells.Create(ctx, shell); err != nil {
		panic(err)
	}
	page, err := service.Search(ctx, repository.Search{IDShort: "pump", Limit: 10})
	fmt.Println(page.Total, page.Documents[0].ID, err)
	// Output: 1 urn:example:aas:7 <nil>
}

package netcompliance_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/netcompliance"
	"github.com/otkit/otkit/aas/repository"
)

func Example() {
	provider, err := netcompliance.New(netcompliance.SourceFunc(
		func(_ context.Context, shell *aas.Shell) (netcompliance.Facts, bool, error) {
			return netcompliance.Facts{Encryption: "1.3", Authentication: "password"}, shell.ID == "urn:pump", nil
		}), netcompliance.Options{Rules: netcompliance.DefaultRules()[:2]})
	if err != nil {
		panic(err)
	}
	service, err := repository.New(repository.NewMemory(), repository.Options{Providers: []repository.SubmodelProvider{provider}})
	if err != nil {
		panic(err)
	}
	pump := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:asset:pump"}}
	pump.ID, pump.IDShort = "urn:pump", "Pump"
	if _, err := service.Shells.Create(context.Background(), pump); err != nil {
		panic(err)
	}
	list, err := service.SubmodelsOf(context.Background(), "urn:pump")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(list[0].Document.JSON))
	// Output:
	// {"submodelType":"NetworkCompliance","semanticId":"https://admin-shell.io/idta/SM/NetworkCompliance/1/0","elements":[{"idShort":"OverallLevel","value":"PartlyCompliant"},{"idShort":"TransportEncryption","value":"Compliant"},{"idShort":"Authentication","value":"PartlyCompliant"}]}
}

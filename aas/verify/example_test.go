package verify_test

import (
	"fmt"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/verify"
)

func Example() {
	shell := &aas.Shell{
		Identifiable:     aas.Identifiable{ID: "urn:example:pump", Referable: aas.Referable{IDShort: "Pump"}},
		AssetInformation: aas.AssetInformation{AssetKind: aas.Instance},
	}
	for _, f := range verify.New(verify.Options{}).Verify(shell) {
		fmt.Println(f.Field, "-", f.Message)
	}
	// Output: assetInformation - Constraint AASd-131: Either the global asset ID shall be defined or at least one specific asset ID.
}

package aasx_test

import (
	"bytes"
	"fmt"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
)

func Example() {
	pump := &aas.Shell{
		Identifiable:     aas.Identifiable{ID: "urn:example:pump", Referable: aas.Referable{IDShort: "Pump"}},
		AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:example:pump:7"},
	}
	manual := aasx.File{Name: "/aasx/files/manual.pdf", ContentType: "application/pdf", Data: []byte("%PDF-")}
	var b bytes.Buffer
	err := aasx.Write(&b, &aasx.Package{Environment: aas.Environment{Shells: []*aas.Shell{pump}}, Files: []aasx.File{manual}},
		aasx.Options{Format: aasx.XML})
	if err != nil {
		fmt.Println(err)
		return
	}

	p, err := aasx.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), aasx.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Environment.Shells[0].IDShort, p.Files[0].Name, p.Files[0].ContentType)
	// Output: Pump /aasx/files/manual.pdf application/pdf
}

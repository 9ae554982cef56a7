package exchange_test

import (
	"bytes"
	"context"
	"fmt"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
)

// A JSON document comes in, and one submodel goes out as an AASX package.
func Example() {
	const text = `{"submodels":[{"modelType":"Submodel","id":"urn:example:nameplate","idShort":"Nameplate"}]}`
	ctx := context.Background()
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := exchange.Read(bytes.NewReader([]byte(text)), int64(len(text)), exchange.JSON, aasx.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := service.Import(ctx, &p.Environment, nil, repository.ImportOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err = exchange.Export(ctx, service, exchange.Selection{Submodels: []string{"urn:example:nameplate"}, WithFiles: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	var out bytes.Buffer
	if err := exchange.Write(&out, p, exchange.AASX); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Created, p.Environment.Submodels[0].IDShort, out.Len() > 0)
	// Output: 1 Nameplate true
}

// How do I load an AASX package and ask it things? Read it, import it into a service over memory, find
// shells by an asset id and read a property by its idShortPath.
//
//	go run ./examples/aas-aasx                               makes one and asks it
//	go run ./examples/aas-aasx FILE GLOBAL-ASSET-ID PATH     such as TechnicalProperties.RatedPower
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
)

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{filepath.Join(os.TempDir(), "pump.aasx"), "urn:example:asset:7", "TechnicalProperties.RatedPower"}
		if err := makePump(args[0]); err != nil {
			log.Fatal(err)
		}
	}
	if len(args) != 3 {
		log.Fatal("usage: aas-aasx FILE GLOBAL-ASSET-ID PATH")
	}
	if err := run(context.Background(), os.Stdout, args[0], args[1], args[2]); err != nil {
		log.Fatal(err)
	}
}

// run prints what the submodels of an asset's shells have at a path.
func run(ctx context.Context, out io.Writer, file, assetID, path string) error {
	service, err := load(ctx, file)
	if err != nil {
		return err
	}
	defer service.Close(context.Background())
	p, err := aas.ParsePath(path)
	if err != nil {
		return err
	}
	page, err := service.Search(ctx, repository.Search{GlobalAssetID: assetID, Limit: 100})
	if err != nil {
		return err
	}
	for _, shell := range page.Documents {
		submodels, err := service.SubmodelsOf(ctx, shell.ID)
		if err != nil {
			return err
		}
		for _, s := range submodels {
			element, _, err := service.Element(ctx, s.Document.ID, p)
			if errors.Is(err, aas.ErrElementNotFound) {
				continue // another submodel has it
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s %s %s: %s\n", shell.IDShort, s.Document.IDShort, path, aas.AppendElementValue(nil, element, aas.View{}))
		}
	}
	return nil
}

// load reads a package, or JSON or XML, into memory. Packages of others often break one rule or another:
// permissive keeps what can be read.
func load(ctx context.Context, name string) (*repository.Service, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	format, _ := exchange.FormatOf(name)
	p, err := exchange.Read(file, info.Size(), format, aasx.Limits{})
	if err != nil {
		return nil, err
	}
	service, err := repository.New(repository.NewMemory(), repository.Options{Verification: repository.VerifyPermissive})
	if err != nil {
		return nil, err
	}
	_, err = exchange.Import(ctx, service, p, repository.ImportOptions{})
	return service, err
}

// makePump writes a package with one shell.
func makePump(name string) error {
	power := &aas.Property{ValueType: "xs:double", Value: new("4.5")}
	power.IDShort = "RatedPower"
	properties := &aas.Collection{Value: []aas.Element{power}}
	properties.IDShort = "TechnicalProperties"
	data := &aas.Submodel{Elements: []aas.Element{properties}}
	data.ID, data.IDShort = "urn:example:pump:technicaldata", "TechnicalData"
	pump := &aas.Shell{
		AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:example:asset:7"},
		Submodels:        []aas.Reference{aas.RefTo(data.ID)},
	}
	pump.ID, pump.IDShort = "urn:example:pump", "Pump"

	file, err := os.Create(name)
	if err != nil {
		return err
	}
	p := &aasx.Package{Environment: aas.Environment{Shells: []*aas.Shell{pump}, Submodels: []*aas.Submodel{data}}}
	return errors.Join(aasx.Write(file, p, aasx.Options{}), file.Close())
}

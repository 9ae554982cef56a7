package demo

import (
	"context"
	"fmt"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/tags"
)

// asset is one piece of the plant's equipment.
type asset struct {
	name, designation   string
	category            string
	serial, built, code string
	tags                []string
	technical           []technical
}

// technical is one rated value.
type technical struct{ idShort, text, value, unit string }

// Prefixes of the ids of shells and assets.
const (
	shellPrefix = "https://demo.otkit.example/aas/"
	assetPrefix = "https://demo.otkit.example/asset/"
)

func assets() []asset {
	return []asset{
		{
			name: "ReactorR101", designation: "Jacketed stirred reactor", category: "Reactor",
			serial: "R101-2024-0117", built: "2024", code: "JSR-250",
			tags: []string{"setpoint", "temperature", "speed"},
			technical: []technical{
				{"Volume", "Usable volume", "250", "l"}, {"MaxTemperature", "Highest temperature", "120", "°C"},
				{"MaxAgitatorSpeed", "Highest agitator speed", "3000", "rpm"},
			},
		},
		{
			name: "PumpP102", designation: "Centrifugal feed pump", category: "Pump",
			serial: "P102-2023-2206", built: "2023", code: "CFP-40-160",
			tags: []string{"pressure", "vibration"},
			technical: []technical{
				{"RatedPressure", "Rated pressure", "6", "bar"}, {"RatedFlow", "Rated flow", "12.5", "m³/h"},
				{"RatedPower", "Rated power of the motor", "4", "kW"},
			},
		},
		{
			name: "FillingLineL201", designation: "Filling line", category: "Line",
			serial: "L201-2025-0008", built: "2025", code: "FL-30",
			tags: []string{"counter", "running", "recipe"},
			technical: []technical{
				{"RatedOutput", "Rated output", "1800", "pcs/h"}, {"ContainerVolume", "Volume of a container", "0.5", "l"},
			},
		},
	}
}

// FillShells adds the plant's three shells with their submodels to a service, unless it has any of them. Their operational
// data are live values of the plant's tags.
func FillShells(ctx context.Context, s *repository.Service, mapper *tagmap.Mapper, list []tags.Tag) error {
	var env aas.Environment
	for _, a := range assets() {
		shell := a.shell()
		submodels := []*aas.Submodel{a.nameplate(shell.ID), a.technicalData(shell.ID)}
		submodels = append(submodels, mapper.Submodels(a.equipment(list))...)
		for _, m := range submodels {
			shell.Submodels = append(shell.Submodels, aas.RefTo(m.ID))
		}
		env.Shells, env.Submodels = append(env.Shells, shell), append(env.Submodels, submodels...)
	}
	if there, err := anyThere(ctx, s, &env); err != nil || there {
		return err
	}
	if _, err := s.Import(ctx, &env, nil, repository.ImportOptions{}); err != nil {
		return fmt.Errorf("the shells of the demo: %w", err)
	}
	return nil
}

// anyThere reports whether a service has any document of an environment.
func anyThere(ctx context.Context, s *repository.Service, env *aas.Environment) (bool, error) {
	var shells, submodels []string
	for _, v := range env.Shells {
		shells = append(shells, v.ID)
	}
	for _, v := range env.Submodels {
		submodels = append(submodels, v.ID)
	}
	found, err := s.Shells.Documents(ctx, shells...)
	if err != nil || len(found) > 0 {
		return true, err
	}
	found, err = s.Submodels.Documents(ctx, submodels...)
	return len(found) > 0, err
}

// equipment returns the mapping of the asset's tags.
func (a *asset) equipment(list []tags.Tag) tagmap.Equipment {
	e := tagmap.Equipment{ShellID: shellPrefix + a.name, Category: a.category}
	for _, t := range list {
		if slices.Contains(a.tags, t.Address) {
			e.Tags = append(e.Tags, t)
		}
	}
	return e
}

func (a *asset) shell() *aas.Shell {
	s := &aas.Shell{AssetInformation: aas.AssetInformation{
		AssetKind: aas.Instance, GlobalAssetID: assetPrefix + a.serial,
		SpecificAssetIDs: []aas.SpecificAssetID{{Name: "serialNumber", Value: a.serial}, {Name: "equipmentCategory", Value: a.category}},
	}}
	s.ID, s.IDShort = shellPrefix+a.name, a.name
	s.Description = []aas.LangString{{Language: "en", Text: a.designation + " of the demo plant"}}
	return s
}

// nameplate follows IDTA 02006-3-0.
func (a *asset) nameplate(shellID string) *aas.Submodel {
	m := submodel(shellID, "Nameplate", "https://admin-shell.io/idta/nameplate/3/0/Nameplate")
	address := &aas.Collection{Value: []aas.Element{
		words("Street", "0173-1#02-AAO128#002", "Example Street 1"), words("Zipcode", "0173-1#02-AAO129#002", "12345"),
		words("CityTown", "0173-1#02-AAO132#002", "Exampletown"), words("NationalCode", "0173-1#02-AAO134#002", "DE"),
	}}
	address.IDShort = "AddressInformation"
	address.SemanticID = aas.Global("https://admin-shell.io/zvei/nameplate/1/0/ContactInformations/AddressInformation")
	m.Elements = []aas.Element{
		property("URIOfTheProduct", "0112/2///61987#ABN590#002", "xs:anyURI", assetPrefix+a.serial),
		words("ManufacturerName", "0112/2///61987#ABA565#009", "Example Machines Ltd"),
		words("ManufacturerProductDesignation", "0112/2///61987#ABA567#009", a.designation),
		address,
		property("OrderCodeOfManufacturer", "0112/2///61987#ABA950#008", "xs:string", a.code),
		property("SerialNumber", "0112/2///61987#ABA951#009", "xs:string", a.serial),
		property("YearOfConstruction", "0112/2///61987#ABP000#002", "xs:string", a.built),
	}
	return m
}

// technicalData follows the frame of IDTA 02003-1-2.
func (a *asset) technicalData(shellID string) *aas.Submodel {
	const frame = "https://admin-shell.io/ZVEI/TechnicalData/"
	m := submodel(shellID, "TechnicalData", frame+"Submodel/1/2")
	general, values := &aas.Collection{}, &aas.Collection{}
	general.IDShort, general.SemanticID = "GeneralInformation", aas.Global(frame+"GeneralInformation/1/1")
	general.Value = []aas.Element{
		property("ManufacturerName", "0173-1#02-AAO677#002", "xs:string", "Example Machines Ltd"),
		property("ManufacturerOrderCode", "0173-1#02-AAO227#002", "xs:string", a.code),
	}
	values.IDShort, values.SemanticID = "TechnicalProperties", aas.Global(frame+"TechnicalProperties/1/1")
	for _, t := range a.technical {
		p := property(t.idShort, "", "xs:double", t.value)
		p.EmbeddedDataSpecifications = []aas.EmbeddedDataSpecification{{
			DataSpecification: aas.Global(aas.IEC61360Template),
			Content:           &aas.IEC61360{PreferredName: english(t.text), Unit: t.unit, DataType: "REAL_MEASURE"},
		}}
		values.Value = append(values.Value, p)
	}
	m.Elements = []aas.Element{general, values}
	return m
}

func submodel(shellID, idShort, semanticID string) *aas.Submodel {
	m := &aas.Submodel{}
	m.ID, m.IDShort, m.SemanticID = shellID+"/"+idShort, idShort, aas.Global(semanticID)
	return m
}

func property(idShort, semanticID string, t aas.DataType, value string) *aas.Property {
	p := &aas.Property{ValueType: t, Value: &value}
	p.IDShort = idShort
	if semanticID != "" {
		p.SemanticID = aas.Global(semanticID)
	}
	return p
}

func words(idShort, semanticID, text string) *aas.MultiLanguageProperty {
	p := &aas.MultiLanguageProperty{Value: english(text)}
	p.IDShort, p.SemanticID = idShort, aas.Global(semanticID)
	return p
}

func english(text string) []aas.LangString { return []aas.LangString{{Language: "en", Text: text}} }

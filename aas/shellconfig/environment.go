package shellconfig

import (
	"cmp"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/tags"
)

// Builder builds shells. Safe for concurrent use.
type Builder struct{ mapper *tagmap.Mapper }

// NewBuilder returns a builder that maps tags by the default rules.
func NewBuilder() (*Builder, error) {
	mapper, err := tagmap.NewMapper(tagmap.Options{})
	if err != nil {
		return nil, err
	}
	return &Builder{mapper}, nil
}

// Environment returns the shell of a configuration with its active submodels, in the order OperationalData, TechnicalData, Nameplate,
// TimeSeries; any others follow and are empty. Elements that show tags have no values. What the nameplate of the configuration has replaces
// what a tag shows; its elements have a [tagmap.GeneratedExtension].
func (b *Builder) Environment(c Config, list []tags.Tag) *aas.Environment {
	env := &aas.Environment{}
	shell := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: c.GlobalAssetID}}
	shell.ID, shell.IDShort = c.ID, c.IDShort
	env.Shells = []*aas.Shell{shell}
	built := b.mapper.Submodels(tagmap.Equipment{ShellID: c.ID, Category: c.EquipmentCategory, Tags: list})
	names := slices.SortedStableFunc(slices.Values(c.ActiveSubmodels), func(x, y string) int { return cmp.Compare(place(x), place(y)) })
	if c.ActiveSubmodels == nil {
		for _, m := range built {
			names = append(names, m.IDShort)
		}
	}
	for _, name := range names {
		var m *aas.Submodel
		if i := slices.IndexFunc(built, func(m *aas.Submodel) bool { return m.IDShort == name }); i >= 0 {
			m = built[i]
		} else {
			m = b.mapper.Submodel(c.ID, tagmap.Target(name))
		}
		if name == string(tagmap.Nameplate) {
			c.Nameplate.fill(m)
		}
		env.Submodels = append(env.Submodels, m)
		shell.Submodels = append(shell.Submodels, aas.RefTo(m.ID))
	}
	return env
}

// SubmodelID returns the id that Environment gives the submodel of a shell.
func (b *Builder) SubmodelID(shellID, idShort string) string {
	return b.mapper.Submodel(shellID, tagmap.Target(idShort)).ID
}

func place(name string) int {
	if i := slices.Index(allTargets, name); i >= 0 {
		return i
	}
	return len(allTargets)
}

// fill adds the configured members to the submodel Nameplate.
func (n Nameplate) fill(m *aas.Submodel) {
	for _, p := range n.properties() {
		if p.value == "" {
			continue
		}
		m.Elements = slices.DeleteFunc(m.Elements, func(e aas.Element) bool { return e.Common().IDShort == p.idShort })
		m.Elements = append(m.Elements, p.element())
	}
}

func (p property) element() aas.Element {
	common := aas.Referable{IDShort: p.idShort, Extensions: []aas.Extension{{Name: tagmap.GeneratedExtension}}}
	if p.multi {
		e := &aas.MultiLanguageProperty{Value: []aas.LangString{{Language: "en", Text: p.value}}}
		e.Referable, e.SemanticID = common, aas.Global(p.semantic)
		return e
	}
	e := &aas.Property{ValueType: "xs:string", Value: new(p.value)}
	e.Referable, e.SemanticID = common, aas.Global(p.semantic)
	return e
}

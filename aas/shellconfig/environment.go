package shellconfig

import (
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/tagmap"
)

// Environment returns the shell with its active submodels. Elements that show tags have no values.
func (s *Store) Environment() *aas.Environment {
	c, _ := s.Get()
	env := &aas.Environment{}
	shell := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: c.GlobalAssetID}}
	shell.ID, shell.IDShort = c.ID, c.IDShort
	env.Shells = []*aas.Shell{shell}
	built := s.mapper.Submodels(tagmap.Equipment{ShellID: c.ID, Category: c.EquipmentCategory, Tags: s.o.Tags()})
	for _, name := range allTargets {
		if !slices.Contains(c.ActiveSubmodels, name) {
			continue
		}
		i := slices.IndexFunc(built, func(m *aas.Submodel) bool { return m.IDShort == name })
		var m *aas.Submodel
		if i >= 0 {
			m = built[i]
		}
		if name == string(tagmap.Nameplate) {
			m = c.nameplate(s.mapper, m)
		}
		if m != nil {
			env.Submodels = append(env.Submodels, m)
			shell.Submodels = append(shell.Submodels, aas.RefTo(m.ID))
		}
	}
	return env
}

// nameplate adds the configured members to the submodel Nameplate, which is nil if no tag is in it. What is configured replaces what a
// tag shows.
func (c Config) nameplate(mapper *tagmap.Mapper, m *aas.Submodel) *aas.Submodel {
	if m == nil {
		m = mapper.Submodel(c.ID, tagmap.Nameplate)
	}
	for _, p := range c.Nameplate.properties() {
		if p.value == "" {
			continue
		}
		m.Elements = slices.DeleteFunc(m.Elements, func(e aas.Element) bool { return e.Common().IDShort == p.idShort })
		m.Elements = append(m.Elements, p.element())
	}
	if len(m.Elements) == 0 {
		return nil
	}
	return m
}

func (p property) element() aas.Element {
	if p.multi {
		e := &aas.MultiLanguageProperty{Value: []aas.LangString{{Language: "en", Text: p.value}}}
		e.IDShort, e.SemanticID = p.idShort, aas.Global(p.semantic)
		return e
	}
	e := &aas.Property{ValueType: "xs:string", Value: new(p.value)}
	e.IDShort, e.SemanticID = p.idShort, aas.Global(p.semantic)
	return e
}

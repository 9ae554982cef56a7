package coremodel

import (
	str "github.com/aas-core-works/aas-core3.1-golang/stringification"
	core "github.com/aas-core-works/aas-core3.1-golang/types"

	"github.com/otkit/otkit/aas"
)

// Environment takes an environment from aas-core.
func Environment(v core.IEnvironment) *aas.Environment {
	return &aas.Environment{
		Shells:              all(v.AssetAdministrationShells(), fromShell),
		Submodels:           all(v.Submodels(), fromSubmodel),
		ConceptDescriptions: all(v.ConceptDescriptions(), fromConcept),
	}
}

func fromShell(v core.IAssetAdministrationShell) *aas.Shell {
	return &aas.Shell{
		Identifiable:     fromIdentifiable(v, v.EmbeddedDataSpecifications()),
		DerivedFrom:      fromReference(v.DerivedFrom()),
		AssetInformation: fromAssetInformation(v.AssetInformation()),
		Submodels:        all(v.Submodels(), fromReferenceEntry),
	}
}

func fromAssetInformation(v core.IAssetInformation) aas.AssetInformation {
	a := aas.AssetInformation{
		AssetKind:        aas.AssetKind(name(v.AssetKind(), str.AssetKindToString)),
		GlobalAssetID:    text(v.GlobalAssetID()),
		SpecificAssetIDs: all(v.SpecificAssetIDs(), fromSpecificAssetID),
		AssetType:        text(v.AssetType()),
	}
	if t := v.DefaultThumbnail(); t != nil {
		a.DefaultThumbnail = &aas.Resource{Path: t.Path(), ContentType: text(t.ContentType())}
	}
	return a
}

func fromSpecificAssetID(v core.ISpecificAssetID) aas.SpecificAssetID {
	return aas.SpecificAssetID{Semantics: fromSemantics(v), Name: v.Name(), Value: v.Value(), ExternalSubjectID: fromReference(v.ExternalSubjectID())}
}

func fromSubmodel(v core.ISubmodel) *aas.Submodel {
	return &aas.Submodel{
		Identifiable: fromIdentifiable(v, v.EmbeddedDataSpecifications()),
		Kind:         aas.ModellingKind(optionalName(v.Kind(), str.ModellingKindToString)),
		Semantics:    fromSemantics(v),
		Qualifiers:   all(v.Qualifiers(), fromQualifier),
		Elements:     all(v.SubmodelElements(), fromElement),
	}
}

func fromConcept(v core.IConceptDescription) *aas.ConceptDescription {
	return &aas.ConceptDescription{
		Identifiable: fromIdentifiable(v, v.EmbeddedDataSpecifications()),
		IsCaseOf:     all(v.IsCaseOf(), fromReferenceEntry),
	}
}

func fromIdentifiable(v core.IIdentifiable, specs []core.IEmbeddedDataSpecification) aas.Identifiable {
	id := aas.Identifiable{Referable: fromReferable(v), ID: v.ID(), EmbeddedDataSpecifications: all(specs, fromDataSpecification)}
	if a := v.Administration(); a != nil {
		id.Administration = &aas.Administration{
			EmbeddedDataSpecifications: all(a.EmbeddedDataSpecifications(), fromDataSpecification),
			Version:                    text(a.Version()),
			Revision:                   text(a.Revision()),
			Creator:                    fromReference(a.Creator()),
			TemplateID:                 text(a.TemplateID()),
		}
	}
	return id
}

func fromReferable(v core.IReferable) aas.Referable {
	return aas.Referable{
		Extensions:  all(v.Extensions(), fromExtension),
		Category:    text(v.Category()),
		IDShort:     text(v.IDShort()),
		DisplayName: langStrings(v.DisplayName()),
		Description: langStrings(v.Description()),
	}
}

func fromSemantics(v core.IHasSemantics) aas.Semantics {
	return aas.Semantics{
		SemanticID:              fromReference(v.SemanticID()),
		SupplementalSemanticIDs: all(v.SupplementalSemanticIDs(), fromReferenceEntry),
	}
}

func fromExtension(v core.IExtension) aas.Extension {
	return aas.Extension{
		Semantics: fromSemantics(v),
		Name:      v.Name(),
		ValueType: aas.DataType(optionalName(v.ValueType(), str.DataTypeDefXSDToString)),
		Value:     v.Value(),
		RefersTo:  all(v.RefersTo(), fromReferenceEntry),
	}
}

func fromQualifier(v core.IQualifier) aas.Qualifier {
	return aas.Qualifier{
		Semantics: fromSemantics(v),
		Kind:      aas.QualifierKind(optionalName(v.Kind(), str.QualifierKindToString)),
		Type:      v.Type(),
		ValueType: dataType(v.ValueType()),
		Value:     v.Value(),
		ValueID:   fromReference(v.ValueID()),
	}
}

func fromReference(v core.IReference) *aas.Reference {
	if v == nil {
		return nil
	}
	r := fromReferenceEntry(v)
	return &r
}

func fromReferenceEntry(v core.IReference) aas.Reference {
	return aas.Reference{
		Type:               aas.ReferenceType(name(v.Type(), str.ReferenceTypesToString)),
		ReferredSemanticID: fromReference(v.ReferredSemanticID()),
		Keys: all(v.Keys(), func(k core.IKey) aas.Key {
			return aas.Key{Type: aas.KeyType(name(k.Type(), str.KeyTypesToString)), Value: k.Value()}
		}),
	}
}

func fromDataSpecification(v core.IEmbeddedDataSpecification) aas.EmbeddedDataSpecification {
	spec := aas.EmbeddedDataSpecification{DataSpecification: fromReference(v.DataSpecification())}
	if c, ok := v.DataSpecificationContent().(core.IDataSpecificationIEC61360); ok {
		spec.Content = fromIEC61360(c)
	}
	return spec
}

func fromIEC61360(v core.IDataSpecificationIEC61360) *aas.IEC61360 {
	s := &aas.IEC61360{
		PreferredName:      langStrings(v.PreferredName()),
		ShortName:          langStrings(v.ShortName()),
		Unit:               text(v.Unit()),
		UnitID:             fromReference(v.UnitID()),
		SourceOfDefinition: text(v.SourceOfDefinition()),
		Symbol:             text(v.Symbol()),
		DataType:           optionalName(v.DataType(), str.DataTypeIEC61360ToString),
		Definition:         langStrings(v.Definition()),
		ValueFormat:        text(v.ValueFormat()),
		Value:              text(v.Value()),
	}
	if l := v.ValueList(); l != nil {
		s.ValueList = all(l.ValueReferencePairs(), func(p core.IValueReferencePair) aas.ValueReferencePair {
			return aas.ValueReferencePair{Value: p.Value(), ValueID: fromReference(p.ValueID())}
		})
	}
	if l := v.LevelType(); l != nil {
		s.LevelType = &aas.LevelType{Min: l.Min(), Nom: l.Nom(), Typ: l.Typ(), Max: l.Max()}
	}
	return s
}

func langStrings[L core.IAbstractLangString](list []L) []aas.LangString {
	return all(list, func(l L) aas.LangString { return aas.LangString{Language: l.Language(), Text: l.Text()} })
}

func dataType(v core.DataTypeDefXSD) aas.DataType {
	return aas.DataType(name(v, str.DataTypeDefXSDToString))
}

func all[I, T any](list []I, convert func(I) T) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// name gives the literal's text. What was read has known literals only.
func name[L ~int](l L, text func(L) (string, bool)) string {
	s, _ := text(l)
	return s
}

func optionalName[L ~int](l *L, text func(L) (string, bool)) string {
	if l == nil {
		return ""
	}
	return name(*l, text)
}

package coremodel

import (
	"slices"

	str "github.com/aas-core-works/aas-core3.1-golang/stringification"
	core "github.com/aas-core-works/aas-core3.1-golang/types"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// unknown stands for a literal that the metamodel does not have: aas-core names the place of it when it
// verifies, and refuses to write it.
const unknown = -1

// To returns v, which is a *aas.Shell, *aas.Submodel, *aas.ConceptDescription, *aas.Environment or
// aas.Element, to aas-core. Where something cannot be said there, the fields tell what and where, and the
// instance is without it. A nil instance without fields means that v is none of these.
func To(v any) (core.IClass, []fault.Field) {
	var c converter
	switch v := v.(type) {
	case *aas.Shell:
		return shell(v), nil
	case *aas.ConceptDescription:
		return concept(v), nil
	case *aas.Submodel:
		return c.submodel(v), c.problems
	case *aas.Environment:
		return c.environment(v), c.problems
	case aas.Element:
		if e := c.element(v); e != nil {
			return e, c.problems
		}
		return nil, []fault.Field{{Message: "is no kind of submodel element"}}
	}
	return nil, nil
}

func (c *converter) environment(v *aas.Environment) core.IEnvironment {
	env := core.NewEnvironment()
	env.SetAssetAdministrationShells(each(v.Shells, func(s **aas.Shell) core.IAssetAdministrationShell { return shell(*s) }))
	var submodels []core.ISubmodel
	for i, s := range v.Submodels {
		before := len(c.problems)
		submodels = append(submodels, c.submodel(s))
		c.under(before, "submodels", i)
	}
	env.SetSubmodels(submodels)
	env.SetConceptDescriptions(each(v.ConceptDescriptions, func(d **aas.ConceptDescription) core.IConceptDescription { return concept(*d) }))
	return env
}

func shell(v *aas.Shell) core.IAssetAdministrationShell {
	s := core.NewAssetAdministrationShell(v.ID, assetInformation(&v.AssetInformation))
	identifiable(s, &v.Identifiable)
	s.SetEmbeddedDataSpecifications(specifications(v.EmbeddedDataSpecifications))
	s.SetDerivedFrom(optionalReference(v.DerivedFrom))
	s.SetSubmodels(each(v.Submodels, reference))
	return s
}

func assetInformation(v *aas.AssetInformation) core.IAssetInformation {
	a := core.NewAssetInformation(literal(known(v.AssetKind), str.AssetKindFromString))
	a.SetGlobalAssetID(optional(v.GlobalAssetID))
	a.SetSpecificAssetIDs(each(v.SpecificAssetIDs, specificAssetID))
	a.SetAssetType(optional(v.AssetType))
	if v.DefaultThumbnail != nil {
		r := core.NewResource(v.DefaultThumbnail.Path)
		r.SetContentType(optional(v.DefaultThumbnail.ContentType))
		a.SetDefaultThumbnail(r)
	}
	return a
}

func specificAssetID(v *aas.SpecificAssetID) core.ISpecificAssetID {
	id := core.NewSpecificAssetID(v.Name, v.Value)
	semantics(id, &v.Semantics)
	id.SetExternalSubjectID(optionalReference(v.ExternalSubjectID))
	return id
}

func (c *converter) submodel(v *aas.Submodel) core.ISubmodel {
	s := core.NewSubmodel(v.ID)
	identifiable(s, &v.Identifiable)
	semantics(s, &v.Semantics)
	s.SetEmbeddedDataSpecifications(specifications(v.EmbeddedDataSpecifications))
	s.SetKind(optionalLiteral(v.Kind, str.ModellingKindFromString))
	s.SetQualifiers(each(v.Qualifiers, qualifier))
	s.SetSubmodelElements(c.elements("submodelElements", v.Elements))
	return s
}

func concept(v *aas.ConceptDescription) core.IConceptDescription {
	d := core.NewConceptDescription(v.ID)
	identifiable(d, &v.Identifiable)
	d.SetEmbeddedDataSpecifications(specifications(v.EmbeddedDataSpecifications))
	d.SetIsCaseOf(each(v.IsCaseOf, reference))
	return d
}

func identifiable(to core.IIdentifiable, v *aas.Identifiable) {
	referable(to, &v.Referable)
	if a := v.Administration; a != nil {
		info := core.NewAdministrativeInformation()
		info.SetEmbeddedDataSpecifications(specifications(a.EmbeddedDataSpecifications))
		info.SetVersion(optional(a.Version))
		info.SetRevision(optional(a.Revision))
		info.SetCreator(optionalReference(a.Creator))
		info.SetTemplateID(optional(a.TemplateID))
		to.SetAdministration(info)
	}
}

func referable(to core.IReferable, v *aas.Referable) {
	to.SetExtensions(each(v.Extensions, extension))
	to.SetCategory(optional(v.Category))
	to.SetIDShort(optional(v.IDShort))
	to.SetDisplayName(each(v.DisplayName, func(l *aas.LangString) core.ILangStringNameType {
		return core.NewLangStringNameType(l.Language, l.Text)
	}))
	to.SetDescription(each(v.Description, langText))
}

func langText(l *aas.LangString) core.ILangStringTextType {
	return core.NewLangStringTextType(l.Language, l.Text)
}

func semantics(to core.IHasSemantics, v *aas.Semantics) {
	to.SetSemanticID(optionalReference(v.SemanticID))
	to.SetSupplementalSemanticIDs(each(v.SupplementalSemanticIDs, reference))
}

func extension(v *aas.Extension) core.IExtension {
	e := core.NewExtension(v.Name)
	semantics(e, &v.Semantics)
	e.SetValueType(optionalLiteral(v.ValueType, str.DataTypeDefXSDFromString))
	e.SetValue(v.Value)
	e.SetRefersTo(each(v.RefersTo, reference))
	return e
}

func qualifier(v *aas.Qualifier) core.IQualifier {
	q := core.NewQualifier(v.Type, literal(v.ValueType, str.DataTypeDefXSDFromString))
	semantics(q, &v.Semantics)
	q.SetKind(optionalLiteral(v.Kind, str.QualifierKindFromString))
	q.SetValue(v.Value)
	q.SetValueID(optionalReference(v.ValueID))
	return q
}

func reference(v *aas.Reference) core.IReference {
	r := core.NewReference(literal(v.Type, str.ReferenceTypesFromString), each(v.Keys, func(k *aas.Key) core.IKey {
		return core.NewKey(literal(k.Type, str.KeyTypesFromString), k.Value)
	}))
	r.SetReferredSemanticID(optionalReference(v.ReferredSemanticID))
	return r
}

func optionalReference(v *aas.Reference) core.IReference {
	if v == nil {
		return nil
	}
	return reference(v)
}

func dataSpecification(v *aas.EmbeddedDataSpecification) core.IEmbeddedDataSpecification {
	// Both members are required. What stands in for an absent one breaks a constraint, so that
	// verification tells of it.
	spec, content := v.DataSpecification, v.Content
	if spec == nil {
		spec = &aas.Reference{Type: aas.ExternalReference}
	}
	if content == nil {
		content = &aas.IEC61360{}
	}
	return core.NewEmbeddedDataSpecification(reference(spec), iec61360(content))
}

func iec61360(v *aas.IEC61360) core.IDataSpecificationIEC61360 {
	s := core.NewDataSpecificationIEC61360(each(v.PreferredName, func(l *aas.LangString) core.ILangStringPreferredNameTypeIEC61360 {
		return core.NewLangStringPreferredNameTypeIEC61360(l.Language, l.Text)
	}))
	s.SetShortName(each(v.ShortName, func(l *aas.LangString) core.ILangStringShortNameTypeIEC61360 {
		return core.NewLangStringShortNameTypeIEC61360(l.Language, l.Text)
	}))
	s.SetUnit(optional(v.Unit))
	s.SetUnitID(optionalReference(v.UnitID))
	s.SetSourceOfDefinition(optional(v.SourceOfDefinition))
	s.SetSymbol(optional(v.Symbol))
	s.SetDataType(optionalLiteral(v.DataType, str.DataTypeIEC61360FromString))
	s.SetDefinition(each(v.Definition, func(l *aas.LangString) core.ILangStringDefinitionTypeIEC61360 {
		return core.NewLangStringDefinitionTypeIEC61360(l.Language, l.Text)
	}))
	s.SetValueFormat(optional(v.ValueFormat))
	if len(v.ValueList) > 0 {
		s.SetValueList(core.NewValueList(each(v.ValueList, func(p *aas.ValueReferencePair) core.IValueReferencePair {
			pair := core.NewValueReferencePair(p.Value)
			pair.SetValueID(optionalReference(p.ValueID))
			return pair
		})))
	}
	s.SetValue(optional(v.Value))
	if l := v.LevelType; l != nil {
		s.SetLevelType(core.NewLevelType(l.Min, l.Nom, l.Typ, l.Max))
	}
	return s
}

// each returns nil for nothing: aas-core takes an empty list for a broken constraint.
func each[T, I any](list []T, convert func(*T) I) []I {
	if len(list) == 0 {
		return nil
	}
	all := make([]I, len(list))
	for i := range list {
		all[i] = convert(&list[i])
	}
	return all
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func literal[S ~string, L ~int](s S, parse func(string) (L, bool)) L {
	if l, ok := parse(string(s)); ok {
		return l
	}
	return unknown
}

func optionalLiteral[S ~string, L ~int](s S, parse func(string) (L, bool)) *L {
	if s == "" {
		return nil
	}
	l := literal(s, parse)
	return &l
}

// known returns a kind of asset that metamodel 3.1 has.
func known(kind aas.AssetKind) aas.AssetKind {
	if kind == aas.Batch {
		return aas.Instance
	}
	return kind
}

// specifications omits content that metamodel 3.1 does not have.
func specifications(list []aas.EmbeddedDataSpecification) []core.IEmbeddedDataSpecification {
	return each(slices.DeleteFunc(slices.Clone(list), func(s aas.EmbeddedDataSpecification) bool { return s.OtherContent != "" }), dataSpecification)
}

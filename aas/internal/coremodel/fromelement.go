package coremodel

import (
	str "github.com/aas-core-works/aas-core3.1-golang/stringification"
	core "github.com/aas-core-works/aas-core3.1-golang/types"

	"github.com/otkit/otkit/aas"
)

// fromElement knows every kind that aas-core can give.
func fromElement(v core.ISubmodelElement) aas.Element {
	e := fromSpecific(v)
	*e.Common() = aas.ElementCommon{
		Referable:                  fromReferable(v),
		Semantics:                  fromSemantics(v),
		Qualifiers:                 all(v.Qualifiers(), fromQualifier),
		EmbeddedDataSpecifications: all(v.EmbeddedDataSpecifications(), fromDataSpecification),
	}
	return e
}

// fromSpecific goes by the model type: the interfaces are not distinct, a Capability has the methods of
// every element without members.
func fromSpecific(v core.ISubmodelElement) aas.Element {
	switch v.ModelType() {
	case core.ModelTypeSubmodelElementCollection:
		return &aas.Collection{Value: all(v.(core.ISubmodelElementCollection).Value(), fromElement)}
	case core.ModelTypeSubmodelElementList:
		return fromList(v.(core.ISubmodelElementList))
	case core.ModelTypeEntity:
		v := v.(core.IEntity)
		return &aas.Entity{
			Statements:       all(v.Statements(), fromElement),
			EntityType:       aas.EntityType(optionalName(v.EntityType(), str.EntityTypeToString)),
			GlobalAssetID:    text(v.GlobalAssetID()),
			SpecificAssetIDs: all(v.SpecificAssetIDs(), fromSpecificAssetID),
		}
	case core.ModelTypeOperation:
		v := v.(core.IOperation)
		return &aas.Operation{
			InputVariables:    all(v.InputVariables(), fromVariable),
			OutputVariables:   all(v.OutputVariables(), fromVariable),
			InoutputVariables: all(v.InoutputVariables(), fromVariable),
		}
	case core.ModelTypeRelationshipElement:
		v := v.(core.IRelationshipElement)
		return &aas.RelationshipElement{First: fromReference(v.First()), Second: fromReference(v.Second())}
	case core.ModelTypeAnnotatedRelationshipElement:
		v := v.(core.IAnnotatedRelationshipElement)
		return &aas.AnnotatedRelationshipElement{
			RelationshipElement: aas.RelationshipElement{First: fromReference(v.First()), Second: fromReference(v.Second())},
			Annotations:         all(v.Annotations(), func(d core.IDataElement) aas.Element { return fromElement(d) }),
		}
	case core.ModelTypeBasicEventElement:
		return fromEvent(v.(core.IBasicEventElement))
	default:
		return fromDataElement(v)
	}
}

func fromVariable(v core.IOperationVariable) aas.Element { return fromElement(v.Value()) }

func fromList(v core.ISubmodelElementList) aas.Element {
	return &aas.List{
		OrderRelevant:         v.OrderRelevant(),
		SemanticIDListElement: fromReference(v.SemanticIDListElement()),
		TypeValueListElement:  aas.ElementKind(name(v.TypeValueListElement(), str.AASSubmodelElementsToString)),
		ValueTypeListElement:  aas.DataType(optionalName(v.ValueTypeListElement(), str.DataTypeDefXSDToString)),
		Value:                 all(v.Value(), fromElement),
	}
}

func fromEvent(v core.IBasicEventElement) aas.Element {
	return &aas.BasicEventElement{
		Observed:      fromReferenceEntry(v.Observed()),
		Direction:     name(v.Direction(), str.DirectionToString),
		State:         name(v.State(), str.StateOfEventToString),
		MessageTopic:  text(v.MessageTopic()),
		MessageBroker: fromReference(v.MessageBroker()),
		LastUpdate:    text(v.LastUpdate()),
		MinInterval:   text(v.MinInterval()),
		MaxInterval:   text(v.MaxInterval()),
	}
}

func fromDataElement(v core.ISubmodelElement) aas.Element {
	switch v.ModelType() {
	case core.ModelTypeProperty:
		v := v.(core.IProperty)
		return &aas.Property{ValueType: dataType(v.ValueType()), Value: v.Value(), ValueID: fromReference(v.ValueID())}
	case core.ModelTypeMultiLanguageProperty:
		v := v.(core.IMultiLanguageProperty)
		return &aas.MultiLanguageProperty{Value: langStrings(v.Value()), ValueID: fromReference(v.ValueID())}
	case core.ModelTypeRange:
		v := v.(core.IRange)
		return &aas.Range{ValueType: dataType(v.ValueType()), Min: v.Min(), Max: v.Max()}
	case core.ModelTypeReferenceElement:
		return &aas.ReferenceElement{Value: fromReference(v.(core.IReferenceElement).Value())}
	case core.ModelTypeBlob:
		v := v.(core.IBlob)
		return &aas.Blob{Value: v.Value(), ContentType: text(v.ContentType())}
	case core.ModelTypeFile:
		v := v.(core.IFile)
		return &aas.File{Value: v.Value(), ContentType: text(v.ContentType())}
	default:
		return &aas.Capability{}
	}
}

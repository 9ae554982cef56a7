package coremodel

import (
	"fmt"

	str "github.com/aas-core-works/aas-core3.1-golang/stringification"
	core "github.com/aas-core-works/aas-core3.1-golang/types"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// converter gathers what aas-core has no way to say.
type converter struct{ problems []fault.Field }

// under puts the problems from index before on below the entry of a list.
func (c *converter) under(before int, list string, i int) {
	for j := before; j < len(c.problems); j++ {
		place := fmt.Sprintf("%s[%d]", list, i)
		if inner := c.problems[j].Field; inner != "" {
			place += "." + inner
		}
		c.problems[j].Field = place
	}
}

func (c *converter) elements(name string, list []aas.Element) []core.ISubmodelElement {
	if len(list) == 0 {
		return nil
	}
	all := make([]core.ISubmodelElement, 0, len(list))
	for i, v := range list {
		before := len(c.problems)
		if e := c.element(v); e != nil {
			all = append(all, e)
		} else {
			c.problems = append(c.problems, fault.Field{Message: "has to be a submodel element"})
		}
		c.under(before, name, i)
	}
	return all
}

func (c *converter) annotations(list []aas.Element) []core.IDataElement {
	var all []core.IDataElement
	for i, e := range c.elements("annotations", list) {
		if data, ok := e.(core.IDataElement); ok && core.IsDataElement(e) {
			all = append(all, data)
			continue
		}
		c.problems = append(c.problems, fault.Field{Field: fmt.Sprintf("annotations[%d]", i), Message: "has to be a data element"})
	}
	return all
}

func (c *converter) variables(name string, list []aas.Element) []core.IOperationVariable {
	elements := c.elements(name, list)
	return each(elements, func(e *core.ISubmodelElement) core.IOperationVariable { return core.NewOperationVariable(*e) })
}

// element returns nil for what is no element.
func (c *converter) element(v aas.Element) core.ISubmodelElement {
	e := c.specific(v)
	if e == nil {
		return nil
	}
	common := v.Common()
	referable(e, &common.Referable)
	semantics(e, &common.Semantics)
	e.SetQualifiers(each(common.Qualifiers, qualifier))
	e.SetEmbeddedDataSpecifications(specifications(common.EmbeddedDataSpecifications))
	return e
}

func (c *converter) specific(v aas.Element) core.ISubmodelElement {
	switch v := v.(type) {
	case *aas.Collection:
		e := core.NewSubmodelElementCollection()
		e.SetValue(c.elements("value", v.Value))
		return e
	case *aas.List:
		return c.list(v)
	case *aas.Entity:
		return c.entity(v)
	case *aas.Operation:
		e := core.NewOperation()
		e.SetInputVariables(c.variables("inputVariables", v.InputVariables))
		e.SetOutputVariables(c.variables("outputVariables", v.OutputVariables))
		e.SetInoutputVariables(c.variables("inoutputVariables", v.InoutputVariables))
		return e
	case *aas.RelationshipElement:
		e := core.NewRelationshipElement()
		e.SetFirst(optionalReference(v.First))
		e.SetSecond(optionalReference(v.Second))
		return e
	case *aas.AnnotatedRelationshipElement:
		e := core.NewAnnotatedRelationshipElement()
		e.SetFirst(optionalReference(v.First))
		e.SetSecond(optionalReference(v.Second))
		e.SetAnnotations(c.annotations(v.Annotations))
		return e
	case *aas.Capability:
		return core.NewCapability()
	case *aas.BasicEventElement:
		return event(v)
	default:
		return dataElement(v)
	}
}

func (c *converter) list(v *aas.List) core.ISubmodelElement {
	e := core.NewSubmodelElementList(literal(v.TypeValueListElement, str.AASSubmodelElementsFromString))
	e.SetOrderRelevant(v.OrderRelevant)
	e.SetSemanticIDListElement(optionalReference(v.SemanticIDListElement))
	e.SetValueTypeListElement(optionalLiteral(v.ValueTypeListElement, str.DataTypeDefXSDFromString))
	e.SetValue(c.elements("value", v.Value))
	return e
}

func (c *converter) entity(v *aas.Entity) core.ISubmodelElement {
	e := core.NewEntity()
	e.SetStatements(c.elements("statements", v.Statements))
	e.SetEntityType(optionalLiteral(v.EntityType, str.EntityTypeFromString))
	e.SetGlobalAssetID(optional(v.GlobalAssetID))
	e.SetSpecificAssetIDs(each(v.SpecificAssetIDs, specificAssetID))
	return e
}

func event(v *aas.BasicEventElement) core.ISubmodelElement {
	e := core.NewBasicEventElement(reference(&v.Observed), literal(v.Direction, str.DirectionFromString),
		literal(v.State, str.StateOfEventFromString))
	e.SetMessageTopic(optional(v.MessageTopic))
	e.SetMessageBroker(optionalReference(v.MessageBroker))
	e.SetLastUpdate(optional(v.LastUpdate))
	e.SetMinInterval(optional(v.MinInterval))
	e.SetMaxInterval(optional(v.MaxInterval))
	return e
}

func dataElement(v aas.Element) core.ISubmodelElement {
	switch v := v.(type) {
	case *aas.Property:
		e := core.NewProperty(literal(v.ValueType, str.DataTypeDefXSDFromString))
		e.SetValue(v.Value)
		e.SetValueID(optionalReference(v.ValueID))
		return e
	case *aas.MultiLanguageProperty:
		e := core.NewMultiLanguageProperty()
		e.SetValue(each(v.Value, langText))
		e.SetValueID(optionalReference(v.ValueID))
		return e
	case *aas.Range:
		e := core.NewRange(literal(v.ValueType, str.DataTypeDefXSDFromString))
		e.SetMin(v.Min)
		e.SetMax(v.Max)
		return e
	case *aas.ReferenceElement:
		e := core.NewReferenceElement()
		e.SetValue(optionalReference(v.Value))
		return e
	case *aas.Blob:
		e := core.NewBlob()
		e.SetValue(v.Value)
		e.SetContentType(optional(v.ContentType))
		return e
	case *aas.File:
		e := core.NewFile()
		e.SetValue(v.Value)
		e.SetContentType(optional(v.ContentType))
		return e
	}
	return nil
}

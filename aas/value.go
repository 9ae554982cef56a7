package aas

import (
	"cmp"
	"strconv"
	"strings"
)

// AppendValue appends the $value of a submodel: an object of the values of its elements by idShort.
// Elements without a value, operations and capabilities are omitted; with Core the children of
// children too.
func AppendValue(dst []byte, s *Submodel, v View) []byte {
	e := encoder{buf: dst, view: v}
	e.namedValues(s.Elements, v.Level == Deep)
	return e.buf
}

// AppendElementValue appends the $value of an element: null when it has none, as operations and
// capabilities never have. Numbers are JSON numbers with all their digits; INF and NaN, which JSON
// numbers lack, are strings.
func AppendElementValue(dst []byte, element Element, v View) []byte {
	e := encoder{buf: dst, view: v}
	if !e.value(element, true, v.Level == Deep) {
		e.buf = append(e.buf, "null"...)
	}
	return e.buf
}

// HasValue reports whether an element has a $value.
func HasValue(element Element) bool {
	switch v := element.(type) {
	case *Property:
		return v.Value != nil
	case *MultiLanguageProperty:
		return len(v.Value) > 0
	case *Range:
		return v.Min != nil || v.Max != nil
	case *ReferenceElement:
		return v.Value != nil
	case *RelationshipElement:
		return v.First != nil || v.Second != nil
	case *AnnotatedRelationshipElement:
		return v.First != nil || v.Second != nil || len(v.Annotations) > 0
	case *Blob:
		return v.Value != nil || v.ContentType != ""
	case *File:
		return v.Value != nil || v.ContentType != ""
	case *List:
		for _, entry := range v.Value {
			if HasValue(entry) {
				return true
			}
		}
		return len(v.Value) == 0 && v.TypeValueListElement != KindOperation && v.TypeValueListElement != KindCapability
	case *Operation, *Capability:
		return false
	}
	return true
}

// value appends the value of an element, or reports that it has none.
func (e *encoder) value(element Element, children, descend bool) bool {
	if !HasValue(element) {
		return false
	}
	switch v := element.(type) {
	case *Property:
		e.buf = appendTyped(e.buf, v.ValueType, *v.Value)
		return true
	case *ReferenceElement:
		e.writeReference(v.Value)
		return true
	case *Collection:
		e.namedValues(ifSo(children, v.Value), descend)
		return true
	case *List:
		e.listValues(ifSo(children, v.Value), descend)
		return true
	case *MultiLanguageProperty:
		e.languages(v.Value)
		return true
	}
	e.open()
	switch v := element.(type) {
	case *Range:
		e.typed(mMin, v.ValueType, v.Min)
		e.typed(mMax, v.ValueType, v.Max)
	case *RelationshipElement:
		e.ends(v)
	case *AnnotatedRelationshipElement:
		e.ends(&v.RelationshipElement)
		e.valuesIn(mAnnotations, ifSo(children, v.Annotations), descend)
	case *Blob:
		e.text(mContentType, v.ContentType)
		if v.Value != nil && e.view.Extent == WithBlobValue {
			e.bytes(mValue, v.Value)
		}
	case *File:
		e.text(mContentType, v.ContentType)
		e.pointer(mValue, v.Value)
	case *Entity:
		e.valuesIn(mStatements, ifSo(children, v.Statements), descend)
		e.text(mEntityType, string(v.EntityType))
		e.text(mGlobalAssetID, v.GlobalAssetID)
		array(e, mSpecificAssetIDs, v.SpecificAssetIDs, (*encoder).assetIDValue)
	case *BasicEventElement:
		e.name(mObserved)
		e.writeReference(&v.Observed)
	}
	e.close()
	return true
}

func (e *encoder) ends(r *RelationshipElement) {
	if r.First != nil {
		e.name(mFirst)
		e.writeReference(r.First)
	}
	if r.Second != nil {
		e.name(mSecond)
		e.writeReference(r.Second)
	}
}

func ifSo(ok bool, elements []Element) []Element {
	if ok {
		return elements
	}
	return nil
}

func (e *encoder) namedValues(elements []Element, children bool) {
	e.open()
	for _, element := range elements {
		if HasValue(element) {
			e.item()
			e.buf = append(appendString(e.buf, element.Common().IDShort), ':')
			e.value(element, children, children)
		}
	}
	e.close()
}

func (e *encoder) valuesIn(m member, elements []Element, children bool) {
	if len(elements) > 0 {
		e.name(m)
		e.namedValues(elements, children)
	}
}

// listValues appends null for an entry without a value, so that the others keep their index.
func (e *encoder) listValues(elements []Element, children bool) {
	e.buf = append(e.buf, '[')
	for _, element := range elements {
		e.item()
		if !e.value(element, children, children) {
			e.buf = append(e.buf, "null"...)
		}
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) languages(texts []LangString) {
	e.buf = append(e.buf, '[')
	for _, text := range texts {
		e.item()
		e.open()
		e.buf = append(appendString(e.buf, text.Language), ':')
		e.buf = appendString(e.buf, text.Text)
		e.close()
	}
	e.buf = append(e.buf, ']')
}

// assetIDValue appends SpecificAssetIdValue of the part 2 schemas: an object of the name and the value.
func (e *encoder) assetIDValue(a *SpecificAssetID) {
	e.open()
	e.buf = appendString(append(appendString(e.buf, a.Name), ':'), a.Value)
	e.close()
}

func (e *encoder) typed(m member, t DataType, text *string) {
	if text != nil {
		e.name(m)
		e.buf = appendTyped(e.buf, t, *text)
	}
}

// appendTyped appends a value in the JSON type that is nearest to its data type, or as a string when
// it is not in the lexical form of that.
func appendTyped(dst []byte, t DataType, text string) []byte {
	switch jsonType(t) {
	case jsonBoolean:
		switch text {
		case "true", "1":
			return append(dst, "true"...)
		case "false", "0":
			return append(dst, "false"...)
		}
	case jsonNumber:
		if number, ok := appendNumber(dst, text); ok && lexicalRules[t](text) {
			return number
		}
	}
	return appendString(dst, text)
}

type jsonKind uint8

const (
	jsonString jsonKind = iota
	jsonBoolean
	jsonNumber
)

func jsonType(t DataType) jsonKind {
	switch t {
	case Boolean:
		return jsonBoolean
	case Byte, Decimal, Double, Float, Int, Integer, Long, NegativeInteger, NonNegativeInteger,
		NonPositiveInteger, PositiveInteger, Short, UnsignedByte, UnsignedInt, UnsignedLong, UnsignedShort:
		return jsonNumber
	}
	return jsonString
}

// plainNumber returns a JSON number in the lexical form of a data type, which may have no exponent and no
// fraction: 1e3 is 1000, 5.0 is 5. False when that changes its value, or it is far too long.
func plainNumber(t DataType, text string) (string, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil || shift < -maxForm || shift > maxForm || len(mantissa) > maxForm {
		return "", false
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits, point := whole+fraction, len(whole)+shift
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	} else if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole, fraction = strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")
	plain := cmp.Or(whole, "0")
	if fraction != "" {
		plain += "." + fraction
	}
	if negative && plain != "0" {
		plain = "-" + plain
	}
	return plain, lexicalRules[t](plain)
}

// appendNumber appends an XSD number as a JSON one, which has no plus sign, no leading zeros and digits
// on both sides of its point. False for INF and NaN.
func appendNumber(dst []byte, text string) ([]byte, bool) {
	if text == "" || strings.ContainsAny(text, "IN") {
		return dst, false
	}
	if text[0] == '-' {
		dst = append(dst, '-')
	}
	digits := strings.TrimLeft(text, "+-")
	exponent := ""
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		digits, exponent = digits[:i], digits[i:]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	dst = append(dst, whole...)
	if fraction != "" {
		dst = append(append(dst, '.'), fraction...)
	}
	return append(dst, exponent...), true
}

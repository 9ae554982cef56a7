package aas

// replace sets v to what the document says; v is as before when it fails.
func replace[T Model](v *T, data []byte) error {
	decoded, err := Decode[T](data)
	if err == nil {
		*v = *decoded
	}
	return err
}

// replaceElement does it for an element, whose modelType may be missing since it is known.
func replaceElement(element Element, data []byte) error {
	decoded := newElement(element.ElementKind())
	err := decode(data, func(d *decoder) { d.fill(decoded) })
	if err == nil {
		assign(element, decoded)
	}
	return err
}

// MarshalJSON returns the canonical form.
func (v Shell) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *Shell) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (s Submodel) MarshalJSON() ([]byte, error) { return Append(nil, &s), nil }

// UnmarshalJSON reads what [Decode] reads.
func (s *Submodel) UnmarshalJSON(data []byte) error { return replace(s, data) }

// MarshalJSON returns the canonical form.
func (v ConceptDescription) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *ConceptDescription) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v ShellDescriptor) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *ShellDescriptor) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v SubmodelDescriptor) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *SubmodelDescriptor) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v Environment) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *Environment) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v Reference) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *Reference) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v AssetInformation) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *AssetInformation) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v SpecificAssetID) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *SpecificAssetID) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v Resource) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *Resource) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v Endpoint) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *Endpoint) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v Qualifier) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *Qualifier) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v Extension) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *Extension) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v Administration) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *Administration) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v LangString) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *LangString) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v EmbeddedDataSpecification) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }

// UnmarshalJSON reads what [Decode] reads.
func (v *EmbeddedDataSpecification) UnmarshalJSON(data []byte) error { return replace(v, data) }

// MarshalJSON returns the canonical form.
func (v Property) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *Property) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v MultiLanguageProperty) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *MultiLanguageProperty) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v Range) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *Range) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v ReferenceElement) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *ReferenceElement) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v RelationshipElement) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *RelationshipElement) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v AnnotatedRelationshipElement) MarshalJSON() ([]byte, error) {
	return AppendElement(nil, &v), nil
}

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *AnnotatedRelationshipElement) UnmarshalJSON(data []byte) error {
	return replaceElement(v, data)
}

// MarshalJSON returns the canonical form.
func (v Blob) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *Blob) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v File) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *File) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v Collection) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *Collection) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v List) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *List) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v Entity) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *Entity) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v Operation) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *Operation) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v Capability) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *Capability) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

// MarshalJSON returns the canonical form.
func (v BasicEventElement) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }

// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.
func (v *BasicEventElement) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }

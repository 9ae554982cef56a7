// Package aas is the model of the Asset Administration Shell (IEC 63278, IDTA-01001 V3.1; V3.0 is read too): shells,
// submodels with every kind of element, and concept descriptions, with their JSON form and their rules. It needs no
// third-party module. Package repository stores and serves them.
//
// # The model
//
// The structs are plain: a member that may be absent is an empty string, a nil pointer or an empty slice. An [Element]
// is a pointer to one of fourteen structs; a type switch distinguishes them. Values are text in the lexical form of
// their [DataType], so no digit is lost. Reading a document from several goroutines is safe, changing it is not.
//
// # JSON
//
// [Decode] and [DecodeElement] read in one pass and name an error by its path. The strings of the result are parts of
// one copy of the document, which stays in memory with them. [Append] and [AppendElement] write the canonical form. The
// types also implement json.Marshaler and json.Unmarshaler. [Submodel.Validate] and its siblings find rules that a
// readable document breaks; the functions that change a submodel do not call them.
//
// # Paths and serializations
//
// A [Path] is an idShortPath. [Submodel.Element], [Submodel.Insert], [Submodel.Replace] and [Submodel.Remove] work on
// the element at one; [Submodel.Walk] visits all. The serialization modifiers of IDTA-01002 are [AppendView] for level
// and extent, [AppendValue] with [SetValues] for $value, [AppendMetadata] with [ApplyMetadata] for $metadata,
// [Submodel.Paths] for $path and [Submodel.ReferenceTo] for $reference; [MergeSubmodel] is PATCH of the normal content.
// A function that changes values makes all of its changes or none.
package aas

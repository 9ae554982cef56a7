// Package aas holds asset administration shells after IEC 63278 and IDTA-01001 (metamodel V3.1, which
// reads V3.0 too): shells, submodels with every kind of element, and concept descriptions; their JSON
// form after IDTA-01001 part "JSON"; and a [Service] that keeps them in a [Store], finds them, and tells
// of every change.
//
// # The model
//
// The structs are plain: what a member may lack is an empty string, a nil pointer or an empty slice. An
// [Element] is a pointer to one of the fourteen kinds; a type switch tells them apart. Values are kept
// as text in the lexical form of their [DataType], so that no digit is lost. None of the functions here
// is safe for changing one document from several goroutines; reading one is.
//
// # JSON
//
// [Decode] and [DecodeElement] read in one pass and name what is wrong by its path. Within the metamodel
// nothing is lost; members that it does not have are ignored. The strings of what was read are parts of
// one copy of the document, which stays in memory with them. [Append] and [AppendElement] write the
// canonical form. The types are also json.Marshaler and json.Unmarshaler. [Submodel.Check] and its kind find
// what breaks a constraint although it can be read; the functions that change a submodel do not call it.
//
// # Paths and serialisations
//
// A [Path] is an idShortPath. [Submodel.Element], [Submodel.Insert], [Submodel.Replace] and
// [Submodel.Remove] work on the element at one; [Submodel.Walk] visits all. The serialisation modifiers
// of IDTA-01002 are [AppendView] for level and extent, [AppendValue] with [SetValues] for $value,
// [AppendMetadata] with [ApplyMetadata] for $metadata, [Submodel.Paths] for $path and
// [Submodel.ReferenceTo] for $reference; [MergeSubmodel] is PATCH of the normal content. What changes
// values makes all of its changes or none.
package aas

// Package tagmap maps tags to submodels. Rules say to which element of which submodel a tag of a piece
// of equipment goes; [Mapper.Submodels] builds the submodels, [Mapper.Sync] keeps them in an
// [repository.Service], and [Source] fills their elements with live values of a tag engine and writes to it.
package tagmap

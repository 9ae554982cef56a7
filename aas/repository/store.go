package repository

import (
	"context"
	"math"

	"github.com/otkit/otkit/aas"
)

// Kind returns what a document is.
type Kind uint8

// The kinds of document. Their numbers are kept in databases.
const (
	KindShell              Kind = 1
	KindSubmodel           Kind = 2
	KindConceptDescription Kind = 3
	KindShellDescriptor    Kind = 4
	KindSubmodelDescriptor Kind = 5
	KindAssetLinks         Kind = 6 // asset ids that were linked to a shell id by themselves
	KindPackage            Kind = 7 // an AASX package that is kept as it was sent
)

// Document is one shell, submodel, concept description, descriptor, set of asset links or package as a [Store]
// keeps it. A store reads nothing out of JSON; what it finds documents by is beside it.
type Document struct {
	Kind    Kind
	ID      string
	IDShort string
	// Version is Change.Start for a new document and one more after each write. The store sets it.
	Version uint64
	// Live means that reads fill in values from elsewhere.
	Live bool
	// Terms are what the document is found by, without repeats, in any order.
	Terms []Term
	JSON  []byte // the canonical form, valid UTF-8; not to be changed
	// Divided is JSON taken apart, for an [ElementStore]. It is set for large submodels that are written; other
	// stores ignore it.
	Divided *Divided
}

// Divided is a large document taken apart: its JSON is Head, the elements with commas between them, and Tail.
type Divided struct {
	aas.Divided
	// Count is the number of elements at all depths. A store keeps it for the service.
	Count int
	// Entries is the number of entries of all arrays, see [aas.CountEntries], kept likewise.
	Entries int
}

// Term is one fact that documents are found by. The service uses these names: asset (of a shell, its
// descriptor or its links: name, a zero byte, value; a global asset id has the name globalAssetId),
// assetKind, submodel (id of one that a shell refers to), type (of a submodel, in lower case: see
// [TypesOf]), semantic (first key of a semantic id), caseOf, dataSpecification, assetType, shell (id of one
// in a package).
type Term struct{ Name, Value string }

// Query selects documents of one kind. Every condition must hold. The documents ascend by id, compared byte by byte;
// ids that agree in their first 1000 bytes may be in another order, which must be the same each time.
type Query struct {
	Kind    Kind
	After   string // only ids above it; empty means from the start
	Offset  int    // leave out so many; with After they are counted from there
	Limit   int    // at most so many, at least 1
	IDShort string // equals the idShort; empty means any
	// Contains is a part of the idShort without regard to case, by strings.ToLower of both.
	Contains string
	Terms    []Term // the document has every one of them
	// Linked, when set, wants a term with that name whose value is the id of a document of that kind
	// that has that term.
	Linked *Link
	// WithoutJSON asks for documents whose JSON is nil, which need not be read; all else is set. MaxBytes is then
	// ignored.
	WithoutJSON bool
	// Count asks for Page.Total.
	Count bool
	// MaxBytes bounds the page by the bytes of its documents' JSON: the page ends after the first document with which
	// their sum is MaxBytes or more, so that a page that selects something has at least one document. If documents
	// follow, Page.More is set. 0 means no bound.
	MaxBytes int64
}

// room returns how many bytes a page may have before it ends.
func (q *Query) room() int64 {
	if q.MaxBytes <= 0 || q.WithoutJSON {
		return math.MaxInt64
	}
	return q.MaxBytes
}

// Link is a condition over two kinds of document, such as shells with a nameplate.
type Link struct {
	Name string // of the term that holds the id, such as submodel
	Kind Kind   // of the document that it names
	Term Term   // that this document has
}

// Page is what a [Query] selects. Terms and Divided of the documents are nil.
type Page struct {
	Documents []Document
	More      bool // there are documents after the last one
	Total     int  // documents that match, regardless of After, Offset and Limit; only when counted
}

// Change is one write to one document.
type Change struct {
	// Document to keep; its Version is ignored. With Delete only Kind and ID matter.
	Document Document
	Delete   bool
	Match    Match
	// Start is the version of the document when it is new; 0 is taken for 1. The service gives its clock,
	// in microseconds since 1970: a document that is made again under an old id then has a version that
	// the old one never had.
	Start uint64
}

// Next returns the version that a document has after the change, when it had another before; 0 before
// means that it was not there. A deleted document has version 0.
func (c *Change) Next(before uint64) uint64 {
	switch {
	case c.Delete:
		return 0
	case before == 0:
		return max(c.Start, 1)
	}
	return before + 1
}

// Match is the condition of a [Change]: the zero value has none, and deleting what is not there is
// then nothing.
type Match struct {
	Absent  bool   // there is no such document
	Exists  bool   // there is one, in any version
	Version uint64 // there is one in this version; 0 for any
}

// FileKey names a file that is kept for a document.
type FileKey struct {
	Kind Kind   // of the document
	ID   string // of the document
	Name string // such as /aasx/files/manual.pdf
}

// StoredFile is a file that belongs to a document.
type StoredFile struct {
	Key         FileKey
	ContentType string
	Data        []byte // not to be changed
}

// Batch is changes that happen together, as if in this order: Changes, Remove, Files.
type Batch struct {
	// Changes have each document at most once. Their conditions are all about the state before the batch. The
	// versions that Write returns are in the order of Changes.
	Changes []Change
	// Remove names files to delete, also those of documents that the batch does not change. One without a name means
	// every file of its document; one that is not there is no error.
	Remove []FileKey
	// Files are added, or replace those with the same key. Their documents need not be among the changes, nor be there.
	Files []StoredFile
}

// MismatchError returns which change of a [Batch] did not find what its Match asks for.
type MismatchError struct {
	Index   int    // of the change
	Version uint64 // that the document has; 0 when there is none
}

// Error implements error.
func (e *MismatchError) Error() string { return "aas: a document is not as the change expects it" }

// Store keeps documents and files. Ids and names are any valid UTF-8, compared byte by byte. Safe for
// concurrent use, by several processes too if it is to be shared. If ctx has ended before a call begins, the error is
// context.Canceled for errors.Is, and nothing is written. Package aastest has a conformance suite.
//
// A store may also be an [ElementStore].
type Store interface {
	// Get returns those of the documents that are there, in the order of ids, each once. Terms and Divided are nil.
	// No ids are no documents.
	Get(ctx context.Context, kind Kind, ids ...string) ([]Document, error)
	// Find returns a page of the documents that match.
	Find(ctx context.Context, q Query) (Page, error)
	// Write makes all changes or none, durably, and returns a version for each of b.Changes, in their order: that of
	// [Change.Next], so 0 for a deleted document. If a Match does not hold, Write returns a *MismatchError for the
	// first such change. Deleting a document deletes its files.
	Write(ctx context.Context, b Batch) ([]uint64, error)
	// File returns a file, or ErrFileNotFound.
	File(ctx context.Context, key FileKey) (StoredFile, error)
	// FileNames returns the names of the files of a document, ascending.
	FileNames(ctx context.Context, kind Kind, id string) ([]string, error)
}

// ElementStore is an optional half of a [Store]. It keeps the elements at the top of a large submodel apart, so that a
// call on one of them costs the element and not the submodel. It keeps a document so if the document is written with
// Divided set; what Get and Find return of the document is the same.
type ElementStore interface {
	Store
	// Element returns a document that is kept apart without its JSON: Divided has Head, Tail, Count and Entries, and
	// the first element with the idShort, or none. Another document is returned as by Get, with Divided nil. If the document is
	// not there, ok is false.
	Element(ctx context.Context, kind Kind, id, idShort string) (d Document, ok bool, err error)
	// WriteElement changes one element of a document that is kept apart, durably, and returns the document's new
	// version, one more than c.Version. If the document is not in that version, or not kept apart, or if its only element
	// would go, WriteElement changes nothing and returns a *MismatchError.
	WriteElement(ctx context.Context, c ElementChange) (uint64, error)
}

// ElementChange is a change of one element at the top of a document.
type ElementChange struct {
	Kind    Kind
	ID      string
	Version uint64 // that the document must be in
	IDShort string // of the element: the first one with it
	// JSON replaces the element or, where there is none with the idShort, is added after the last element. Nil removes
	// the element, which is there and not the only one.
	JSON []byte
	// Count and Entries are those of Divided after the change.
	Count, Entries int
}

package repository

import (
	"strconv"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// Failures that callers can tell apart with errors.Is.
var (
	ErrShellNotFound      = fault.New(fault.NotFound, "AAS_NOT_FOUND", "shell not found")
	ErrSubmodelNotFound   = fault.New(fault.NotFound, "SUBMODEL_NOT_FOUND", "submodel not found")
	ErrConceptNotFound    = fault.New(fault.NotFound, "CONCEPT_DESCRIPTION_NOT_FOUND", "concept description not found")
	ErrDescriptorNotFound = fault.New(fault.NotFound, "DESCRIPTOR_NOT_FOUND", "descriptor not found")
	ErrFileNotFound       = fault.New(fault.NotFound, "FILE_NOT_FOUND", "file not found")
	ErrPackageNotFound    = fault.New(fault.NotFound, "PACKAGE_NOT_FOUND", "package not found")
	ErrShellExists        = fault.New(fault.AlreadyExists, "AAS_ALREADY_EXISTS", "a shell with this id exists")
	ErrSubmodelExists     = fault.New(fault.AlreadyExists, "SUBMODEL_ALREADY_EXISTS", "a submodel with this id exists")
	ErrConceptExists      = fault.New(fault.AlreadyExists, "CONCEPT_DESCRIPTION_ALREADY_EXISTS", "a concept description with this id exists")
	ErrDescriptorExists   = fault.New(fault.AlreadyExists, "DESCRIPTOR_ALREADY_EXISTS", "a descriptor with this id exists")
	ErrPackageExists      = fault.New(fault.AlreadyExists, "PACKAGE_ALREADY_EXISTS", "a package with this id exists")
	// ErrVersionChanged means that a document does not have the version that the caller expected.
	ErrVersionChanged = fault.New(fault.Conflict, "VERSION_CHANGED", "the document has changed since it was read")
	// ErrPreconditionFailed means that something exists that must not, or the reverse. It is
	// ErrVersionChanged for errors.Is.
	ErrPreconditionFailed = fault.New(fault.Conflict, "VERSION_CHANGED", "the condition of the request does not hold")
)

// Failures of a [Service] and of its subscriptions.
var (
	ErrNotAFile       = fault.New(fault.Invalid, "NOT_A_FILE", "the element is not of kind File")
	ErrNotAnOperation = fault.New(fault.Invalid, "NOT_AN_OPERATION", "the element is not of kind Operation")
	ErrNoHandler      = fault.New(fault.Unavailable, "OPERATION_NOT_AVAILABLE", "no handler for this operation")
	ErrNoValueSource  = fault.New(fault.Unavailable, "VALUE_SOURCE_NOT_AVAILABLE", "no source for live values")
	ErrFileTooLarge   = fault.New(fault.TooLarge, "FILE_TOO_LARGE", "the file is larger than the limit")
	ErrImportTooLarge = fault.New(fault.TooLarge, "IMPORT_TOO_LARGE", "the files of an import are larger than the limit together")
	ErrPageTooLarge   = fault.New(fault.TooLarge, "PAGE_TOO_LARGE", "the documents of one answer are larger than the limit")
	ErrBusy           = fault.New(fault.Unavailable, "DOCUMENT_BUSY", "the document is being changed by too many others")
	ErrSlowSubscriber = fault.New(fault.TooMany, "SLOW_SUBSCRIBER", "subscriber is too slow and was ended")
	ErrClosed         = fault.New(fault.Unavailable, "AAS_STOPPED", "the service has stopped")
)

// errCanceled is given when the caller's context ends while its call waits.
var errCanceled = fault.New(fault.Canceled, "CANCELED", "the call was canceled")

// invalid returns the error for one member.
func invalid(field, message string) error {
	return aas.ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: message})
}

func entryOf(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

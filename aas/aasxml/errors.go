package aasxml

import "github.com/otkit/otkit/fault"

var (
	// ErrTooLarge is returned for a document above a limit.
	ErrTooLarge = fault.New(fault.TooLarge, "XML_TOO_LARGE", "the XML is above a limit")
	// ErrNoForm is returned for what XML has no form for.
	ErrNoForm = fault.New(fault.Invalid, "NO_XML_FORM", "XML has no form for a part of the environment; JSON has")
)

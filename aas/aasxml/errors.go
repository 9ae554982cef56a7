package aasxml

import "github.com/otkit/otkit/fault"

// ErrTooLarge says that a document is above one of the [Limits].
var ErrTooLarge = fault.New(fault.TooLarge, "XML_TOO_LARGE", "the XML document is too large")

package link

import (
	"errors"

	"github.com/otkit/otkit/fault"
)

// Errors with which an engine ends a link.
var (
	// ErrRefused means that the engine has no binding that fits the bridge's id and its token or key. The bridge becomes free if it is bound to
	// the engine that RefusedBy returns.
	ErrRefused = fault.New(fault.Unauthenticated, "BINDING_UNKNOWN", "the engine has no such binding")
	// ErrProtocol means that a side sent what the protocol does not allow.
	ErrProtocol = fault.New(fault.Invalid, "LINK_PROTOCOL", "the link protocol was broken")
	// ErrReplaced means that the bridge has opened another link.
	ErrReplaced = fault.New(fault.Conflict, "LINK_REPLACED", "another link of the bridge has replaced this one")
	// ErrEnded means that the engine stops or that its binding was removed. The next link tells which.
	ErrEnded = fault.New(fault.Unavailable, "LINK_ENDED", "the engine has ended the link")
	// ErrElsewhere means that another engine of the plant has the bridge's link: the one that SentTo returns.
	ErrElsewhere = fault.New(fault.Unavailable, "LINK_ELSEWHERE", "another engine of the plant has the link of the bridge")
	// ErrSilent means that nothing was received for SilenceLimit.
	ErrSilent = fault.New(fault.Unavailable, "LINK_SILENT", "the other side of the link does not respond")
)

const engineKey = "engineId"

// Refusal returns an ErrRefused that names the engine that refuses.
func Refusal(engineID string) error { return ErrRefused.On(engineKey, engineID) }

const urlKey = "engineUrl"

// Elsewhere returns an ErrElsewhere that names the engine that has the link, and where it is reached. Both may be empty: none has it yet.
func Elsewhere(engine, url string) error { return ErrElsewhere.On(engineKey, engine).With(urlKey, url) }

// SentTo returns the engine that an ErrElsewhere names, and where it is reached.
func SentTo(err error) (engine, url string) {
	if e, ok := fault.From(err); ok && errors.Is(err, ErrElsewhere) {
		return e.Metadata[engineKey], e.Metadata[urlKey]
	}
	return "", ""
}

// RefusedBy returns the engine that an ErrRefused names; empty if err names none or is another error.
func RefusedBy(err error) string {
	if e, ok := fault.From(err); ok && errors.Is(err, ErrRefused) {
		return e.Metadata[engineKey]
	}
	return ""
}

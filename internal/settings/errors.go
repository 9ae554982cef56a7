package settings

import (
	"errors"
	"strings"

	"github.com/otkit/otkit/fault"
)

// Errors of loading. They are meant for whoever starts the server.
var (
	// ErrInvalid names in Fields each key, variable or flag that is wrong and the rule that it breaks.
	ErrInvalid = fault.New(fault.Invalid, "INVALID_SETTINGS", "settings are not valid")
	// ErrFile says that the settings file cannot be read.
	ErrFile = fault.New(fault.Invalid, "SETTINGS_FILE", "settings file cannot be read")
	// ErrStruct says that a struct cannot be used for settings: a defect of the program.
	ErrStruct = fault.New(fault.Internal, "SETTINGS_STRUCT", "struct cannot hold settings")
)

// mostProblems bounds an error text when a whole file is of the wrong kind.
const mostProblems = 20

// problems collects what is wrong in one source of settings.
type problems struct{ fields []fault.Field }

func (p *problems) add(field, message string) {
	if len(p.fields) < mostProblems {
		p.fields = append(p.fields, fault.Field{Field: field, Message: message})
	}
}

// err gives an ErrInvalid about the source, or nil when there is no problem.
func (p *problems) err(source string) error {
	if len(p.fields) == 0 {
		return nil
	}
	e := ErrInvalid
	if source != "" {
		e = e.Because("%s", source)
	}
	return e.Invalid(p.fields...)
}

// take adds the problems that a Validate method reports: fault fields, or plain errors whose text
// begins with the key.
func (p *problems) take(err error) {
	if many, ok := any(err).(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			p.take(e)
		}
		return
	}
	var e *fault.Error
	if errors.As(err, &e) && len(e.Fields) > 0 {
		for _, f := range e.Fields {
			p.add(f.Field, f.Message)
		}
		return
	}
	key, rule, _ := strings.Cut(err.Error(), " ")
	p.add(key, rule)
}

package repository

import (
	"context"
	"log/slog"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// Verification returns what becomes of a document that breaks a rule of the metamodel.
type Verification string

// The ways to verify. Ids, and texts that documents are found by, are checked in every one.
const (
	VerifyStrict     Verification = "strict"     // refused with [aas.ErrInvalidRequest]; the default
	VerifyPermissive Verification = "permissive" // kept, and the findings are logged
	VerifyOff        Verification = "off"        // kept
)

// Verifier finds what breaks rules of its own. Safe for concurrent use.
type Verifier interface {
	// Verify returns the findings: the path of a member and the rule that it breaks. v is a *Shell, a
	// *Submodel, a *ConceptDescription, a *ShellDescriptor, a *SubmodelDescriptor or an Element; what
	// the verifier does not know has no findings. A document that breaks rules already can be changed as
	// long as no finding is added; that needs all of them, or some thousand.
	Verify(v any) []fault.Field
}

// Options are the settings of a [Service]. The zero Options work.
type Options struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discard

	Verification Verification // default VerifyStrict
	// Verifier finds what breaks rules beyond those of the metamodel. Default: none.
	Verifier Verifier

	Providers []SubmodelProvider // add submodels to shells, in this order
	Values    ValueSource        // of live elements; default: none, they have no values

	Operations map[OperationKey]OperationHandler // carry operations out
	// Delegate carries out the operations without an entry in Operations that have a qualifier of type
	// [DelegationQualifier].
	Delegate OperationHandler

	MaxFileBytes int64 // of one file, 1..1 GiB; default 32 MiB
}

// SubmodelProvider adds submodels to shells when the submodels of a shell are asked for. Safe for
// concurrent use.
type SubmodelProvider interface {
	// Submodels returns what is to be added to a shell, none for a shell that it does not know.
	Submodels(ctx context.Context, shell *aas.Shell) ([]ProvidedSubmodel, error)
}

// ProvidedSubmodel is what a [SubmodelProvider] adds: a submodel or, when that is nil, an item of the
// list in its own form.
type ProvidedSubmodel struct {
	Submodel *aas.Submodel
	JSON     []byte
}

// ValueSource is where live values come from, such as a tag engine. Safe for concurrent use.
type ValueSource interface {
	// Values returns the newest value of each name, in their order.
	Values(ctx context.Context, names []string) ([]LiveValue, error)
	// Write writes a value, given in the lexical form of its XSD type.
	Write(ctx context.Context, name, value string) error
}

// LiveValue is the newest value of a name.
type LiveValue struct {
	Value string // in the lexical form of an XSD type, such as true, 12, 0.5 or INF
	Known bool   // false when there is nothing of that name
	Empty bool   // there is, but it has no value yet

	Quality string    // such as Good; optional, and seen by those who watch values alone
	Reason  string    // why the quality is not good
	At      time.Time // when the device or its driver took the value
}

// LiveQualifier is the type of the qualifier that makes a property live: its value is the name of a
// tag. While the [ValueSource] knows the tag, reading the property returns the value of the tag, which is
// never stored: what has a value of the property in it, such as [Repository.Put], leaves stored what is.
// Without a ValueSource, or where the tag is not known, the property has the value that it was stored
// with. [Service.SetValue], [Service.PatchElement] and [Service.PatchSubmodel] write the tag, and fail
// where there is none.
const LiveQualifier = "tag"

// withDefaults fills what is not set and checks the rest.
func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch o.Verification {
	case "":
		o.Verification = VerifyStrict
	case VerifyStrict, VerifyPermissive, VerifyOff:
	default:
		return o, aas.ErrInvalidRequest.Because("Verification must be strict, permissive or off")
	}
	if o.MaxFileBytes == 0 {
		o.MaxFileBytes = 32 << 20
	}
	if o.MaxFileBytes < 1 || o.MaxFileBytes > 1<<30 {
		return o, aas.ErrInvalidRequest.Because("MaxFileBytes must be 1 to 1073741824")
	}
	for key, h := range o.Operations {
		if h == nil || (key.SemanticID == "") == (key.SubmodelID == "") || (key.SubmodelID == "") != (key.Path == "") {
			return o, aas.ErrInvalidRequest.Because("Operations: a key has either SubmodelID and Path or SemanticID, and a handler")
		}
	}
	return o, nil
}

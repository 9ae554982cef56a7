package verify

import (
	"strings"

	"github.com/aas-core-works/aas-core3.1-golang/types"
	core "github.com/aas-core-works/aas-core3.1-golang/verification"

	"github.com/otkit/otkit/aas/internal/coremodel"
	"github.com/otkit/otkit/fault"
)

// defaultMaxFindings is enough to mend a document by, and small enough to send.
const defaultMaxFindings = 100

// Options of a [Verifier].
type Options struct {
	// MaxFindings ends a verification after so many; 0 means 100, below 0 means no end.
	MaxFindings int
}

// Verifier checks the metamodel's constraints. Safe for concurrent use.
type Verifier struct{ max int }

// New returns a verifier.
func New(o Options) *Verifier {
	if o.MaxFindings == 0 {
		o.MaxFindings = defaultMaxFindings
	}
	return &Verifier{max: o.MaxFindings}
}

// Verify tells what breaks a constraint, nil when nothing does. v is a *aas.Shell, *aas.Submodel,
// *aas.ConceptDescription, *aas.Environment or aas.Element; nothing is found in anything else, such as
// descriptors, which the metamodel has no constraints for. A finding's Field is the path of the member
// in the JSON form, such as submodelElements[3].value[1].idShort, and empty for v itself; its Message is
// the text of the constraint, which begins with its name where it has one, such as "Constraint AASd-022:".
//
// Three rules of aas-core are omitted: that a concept description has a definition (AASc-3a-008), that
// an idShort has more than one letter, which metamodel 3.0 does not want, and that a self-managed entity
// with a globalAssetId has no specificAssetIds. Lengths count characters, not bytes.
//
// A single element is checked by itself and with what is below it: whether its idShort is taken by a
// neighbour, and whether its qualifiers suit the kind of its submodel, only the submodel tells.
func (v *Verifier) Verify(document any) []fault.Field {
	instance, findings := coremodel.To(document)
	if instance == nil || v.full(findings) {
		return findings
	}
	adapt(instance)
	instance.Descend(func(c types.IClass) bool {
		adapt(c)
		return false
	})
	return v.run(instance, findings)
}

// adapt changes what aas-core would judge otherwise than the metamodel does, or too slowly.
func adapt(c types.IClass) {
	cutLong(c)
	lengthen(c)
	narrow(c)
	allowBoth(c)
}

// allowBoth has an entity with both a global and specific asset ids be one of the kind that may have
// them: AASd-014 wants either for a self-managed entity, and aas-core wants no more than one.
func allowBoth(c types.IClass) {
	if e, ok := c.(*types.Entity); ok && e.GlobalAssetID() != nil && len(e.SpecificAssetIDs()) > 0 {
		e.SetEntityType(new(types.EntityTypeCoManagedEntity))
	}
}

func (v *Verifier) run(instance types.IClass, findings []fault.Field) (all []fault.Field) {
	all = findings
	// aas-core panics with a text where it meets a value type that it does not know, which a decoded
	// document cannot have but one made in Go can.
	defer func() {
		switch r := recover().(type) {
		case nil:
		case string:
			all = append(all, fault.Field{Field: itself, Message: "cannot be verified: " + r})
		default:
			panic(r)
		}
	}()
	core.Verify(instance, func(e *core.VerificationError) (abort bool) {
		if strings.HasPrefix(e.Message, noDefinition) {
			return false
		}
		f := finding(e)
		if strings.HasPrefix(f.Message, noTime) && len(all) > 0 && all[len(all)-1].Field == f.Field {
			return false
		}
		all = append(all, f)
		return v.full(all)
	})
	return all
}

// noDefinition is the constraint that a concept description has a definition, which is omitted: concept
// descriptions that are a name, a unit and a format are common, and nothing needs the definition.
const noDefinition = "Constraint AASc-3a-008"

// noTime is the rule of what may be no time although it is written as one, such as February 30. What is not
// written as one has been found before by another rule.
const noTime = "The value must represent a valid xs:dateTime"

func (v *Verifier) full(findings []fault.Field) bool { return v.max > 0 && len(findings) >= v.max }

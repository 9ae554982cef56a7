package tagmap

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/otkit/otkit/tags"
)

// Target is a submodel that tags are mapped to.
type Target string

// The targets.
const (
	OperationalData Target = "OperationalData" // what the equipment does now
	TechnicalData   Target = "TechnicalData"   // what it was made for; after IDTA 02003
	Nameplate       Target = "Nameplate"       // who it is; after IDTA 02006
	TimeSeries      Target = "TimeSeries"      // where its history is; after IDTA 02008
)

// Rule maps tags to elements of one submodel. Every condition that is set must hold; a rule without any
// takes every tag that can be mapped. Tags of type Bytes are never mapped.
type Rule struct {
	// Category is the equipmentCategory that the rule is for, compared without regard to case. Empty
	// makes the rule neutral: it holds for every piece of equipment.
	Category string
	// Name is a LIKE pattern over the tag's name without its driver: % for any text, _ for one character,
	// \ before either for itself, without regard to case.
	Name   string
	Units  []string          // one of them is the tag's unit, exactly
	Types  []tags.DataType   // one of them is the tag's data type
	Access []tags.AccessMode // one of them is the tag's access

	Target     Target
	Collection string // idShort of the collection that the element is in; empty for the submodel itself
	IDShort    string // of the element; empty makes it from the tag's name
	SemanticID string // of the element; may be empty
}

// DefaultRules returns the neutral rules that hold after all others: by its name a text goes to the
// nameplate, by its name a rated value goes to the technical data, and anything else is operational.
// Numbers have a time series besides.
func DefaultRules() []Rule {
	text := []tags.DataType{tags.String}
	number := []tags.DataType{tags.Float, tags.Int}
	var rules []Rule
	for _, n := range []struct{ name, idShort, semantic string }{
		{"%serial%n%", "SerialNumber", "0112/2///61987#ABA951#009"},
		{"%firmware%", "FirmwareVersion", "0112/2///61987#ABA302#006"},
		{"%hardware%version%", "HardwareVersion", "0112/2///61987#ABA926#008"},
		{"%software%version%", "SoftwareVersion", "0112/2///61987#ABA601#008"},
		{"%date%of%manufacture%", "DateOfManufacture", "0112/2///61987#ABB757#007"},
	} {
		rules = append(rules, Rule{Name: n.name, Types: text, Target: Nameplate, IDShort: n.idShort, SemanticID: n.semantic})
	}
	for _, name := range []string{`nominal%`, `rated%`, `%\_nominal`, `%\_rated`} {
		rules = append(rules, Rule{Name: name, Target: TechnicalData, Collection: "TechnicalProperties"})
	}
	return append(rules, Rule{Target: OperationalData}, Rule{Types: number, Target: TimeSeries})
}

// compiled is a rule that can be asked.
type compiled struct {
	Rule
	name *tags.Pattern
}

func compile(rules []Rule) ([]compiled, error) {
	list := make([]compiled, len(rules))
	for i, r := range rules {
		list[i].Rule = r
		if !slices.Contains(targets, r.Target) {
			return nil, fmt.Errorf("tagmap: rule %d: Target %q is none", i+1, r.Target)
		}
		for _, id := range []string{r.IDShort, r.Collection} {
			if id != "" && id != idShort(id) {
				return nil, fmt.Errorf("tagmap: rule %d: %q is no idShort", i+1, id)
			}
		}
		if r.Target == TimeSeries && r.Collection != "" {
			return nil, fmt.Errorf("tagmap: rule %d: a time series has no Collection", i+1)
		}
		if r.Name == "" {
			continue
		}
		var err error
		if list[i].name, err = tags.CompilePattern(r.Name); err != nil {
			return nil, errors.Join(fmt.Errorf("tagmap: rule %d: Name", i+1), err)
		}
	}
	return list, nil
}

func (r *compiled) takes(category string, t *tags.Tag) bool {
	return (r.Category == "" || strings.EqualFold(r.Category, category)) &&
		(r.name == nil || r.name.Match(localName(t))) &&
		(len(r.Units) == 0 || slices.Contains(r.Units, t.Unit)) &&
		(len(r.Types) == 0 || slices.Contains(r.Types, t.DataType)) &&
		(len(r.Access) == 0 || slices.Contains(r.Access, access(t)))
}

func access(t *tags.Tag) tags.AccessMode {
	if t.Access == "" {
		return tags.ReadOnly
	}
	return t.Access
}

// localName returns the tag's name without its driver.
func localName(t *tags.Tag) string {
	if rest, ok := strings.CutPrefix(t.Name, t.Driver+"."); ok && rest != "" {
		return rest
	}
	return t.Name
}

// maxIDShort is AASd-027.
const maxIDShort = 128

// idShort makes a name that follows AASd-002: at least two letters, digits, - and _, beginning with a
// letter and not ending with -.
func idShort(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || letter(r) {
			return r
		}
		return '_'
	}, name)
	if clean == "" || !letter(rune(clean[0])) {
		clean = "T" + clean
	}
	clean = strings.TrimRight(clean[:min(len(clean), maxIDShort)], "-")
	if len(clean) < 2 {
		clean = "T_" + clean
	}
	return clean
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

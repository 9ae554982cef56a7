package verify

import (
	"regexp"
	"strings"

	"github.com/aas-core-works/aas-core3.1-golang/reporting"
	core "github.com/aas-core-works/aas-core3.1-golang/verification"

	"github.com/otkit/otkit/fault"
)

// itself is the path of a document as a whole.
const itself = "$"

// finding returns an error of aas-core with the member that it is about, where aas-core stops at the
// object that has the member, and with the name of the constraint, where aas-core leaves it out.
func finding(e *core.VerificationError) fault.Field {
	at, text := path(e.Path), strings.Join(strings.Fields(plain.Replace(e.Message)), " ")
	if strings.HasPrefix(text, "Invalid literal value") {
		return fault.Field{Field: at, Message: "has to be one of the values that the metamodel names"}
	}
	member := members[constraint.FindString(text)]
	for _, r := range rules {
		if strings.HasPrefix(text, r.text) {
			if member = r.member; r.constraint != "" {
				text = "Constraint " + r.constraint + ": " + text
			}
			break
		}
	}
	if member == "" {
		member = subject(text)
	}
	if member != "" {
		at = strings.TrimPrefix(at+"."+member, ".")
	}
	if at == "" {
		at = itself
	}
	return fault.Field{Field: at, Message: text}
}

// plain takes from texts of aas-core what is not for people.
var plain = strings.NewReplacer("Invariant violated:\n", "", ":attr:`Entity_type.Self_managed_entity`", "SelfManagedEntity")

var constraint = regexp.MustCompile(`AAS[a-z]-(3a-)?\d{3}`)

// members are what constraints are about in the objects that aas-core names. AASd-131 and
// AASd-134 are about several members.
var members = map[string]string{
	"AASc-002": "preferredName", "AASc-3a-004": "embeddedDataSpecifications", "AASc-3a-005": "embeddedDataSpecifications",
	"AASc-3a-006": "embeddedDataSpecifications", "AASc-3a-007": "embeddedDataSpecifications", "AASc-3a-009": "unit", "AASc-3a-010": "value",
	"AASd-005": "revision", "AASd-014": "globalAssetId", "AASd-020": "value", "AASd-021": "qualifiers", "AASd-022": "submodelElements",
	"AASd-077": "extensions", "AASd-107": "value", "AASd-108": "value", "AASd-109": "valueTypeListElement", "AASd-114": "value", "AASd-116": "specificAssetIds",
	"AASd-118": "supplementalSemanticIds", "AASd-119": "qualifiers", "AASd-121": "keys", "AASd-122": "keys", "AASd-123": "keys",
	"AASd-124": "keys", "AASd-125": "keys", "AASd-126": "keys", "AASd-127": "keys", "AASd-128": "keys", "AASd-129": "submodelElements",
	"AASd-133": "externalSubjectId",
}

// rules are texts that aas-core gives without the name of the constraint, or of the member as JSON has it.
var rules = []struct{ text, constraint, member string }{
	{"ID-short of Referables", "AASd-002", ""},
	{"Value reference pair types", "", "valueReferencePairs"},
	{"ID-shorts of the value must be unique", "AASd-022", "value"},
	{"Value must be consistent with the value type", "AASd-020", "value"},
	{"The value must match the value type", "AASd-020", "value"},
	{"Min must be consistent with the value type", "AASd-020", "min"},
	{"Max must be consistent with the value type", "AASd-020", "max"},
}

var (
	unnamed  = regexp.MustCompile(`^ID-shorts need to be defined for all the items of (.+?) according`)
	required = regexp.MustCompile(`^Required property not set: (\w+)`)
	leading  = regexp.MustCompile(`^(?:All )?([A-Za-z][\w. -]*?) (?:must|is not applicable)\b`)
)

// subject returns the member that the text of a rule begins with, empty when it speaks of the value that
// the path names.
func subject(text string) string {
	for _, form := range []*regexp.Regexp{unnamed, required, leading} {
		if m := form.FindStringSubmatch(text); m != nil && m[1] != "The value" {
			return camel(m[1])
		}
	}
	return ""
}

// camel returns the member for its name in words or in Go: Specific asset IDs becomes specificAssetIds.
func camel(words string) string {
	var b strings.Builder
	for i, w := range strings.FieldsFunc(words, func(r rune) bool { return r == ' ' || r == '-' || r == '.' }) {
		w = strings.ReplaceAll(w, "ID", "Id")
		if i == 0 {
			b.WriteString(strings.ToLower(w[:1]) + w[1:])
		} else {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}

// path returns the JSON form of aas-core's path of Go names: IDShort becomes idShort.
func path(p *reporting.Path) string {
	var b strings.Builder
	for s := range strings.SplitSeq(strings.ReplaceAll(reporting.ToGolangPath(p), "ID", "Id"), ".") {
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strings.ToLower(s[:1]) + s[1:])
	}
	return b.String()
}

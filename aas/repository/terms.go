package repository

import (
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
)

// The names of terms; see [Term].
const (
	termAsset             = "asset"
	termAssetKind         = "assetKind"
	termAssetType         = "assetType"
	termSubmodel          = "submodel"
	termType              = "type"
	termSemantic          = "semantic"
	termCaseOf            = "caseOf"
	termDataSpecification = "dataSpecification"
	termShell             = "shell"
)

// GlobalAssetIDName is the name that a global asset id has among specific asset ids.
const GlobalAssetIDName = "globalAssetId"

// AssetTerm returns the term of a shell, descriptor or set of links with an asset id. The name of a
// global asset id is [GlobalAssetIDName].
func AssetTerm(name, value string) Term { return Term{termAsset, name + "\x00" + value} }

// KindTerm returns the term of shells whose asset is of a kind.
func KindTerm(kind aas.AssetKind) Term { return Term{termAssetKind, string(kind)} }

// AssetTypeTerm returns the term of shells and descriptors with an asset type.
func AssetTypeTerm(assetType string) Term { return Term{termAssetType, assetType} }

// SubmodelTerm returns the term of shells that refer to a submodel.
func SubmodelTerm(submodelID string) Term { return Term{termSubmodel, submodelID} }

// TypeTerm returns the term of submodels of a type, without regard to case; see [TypesOf].
func TypeTerm(submodelType string) Term { return Term{termType, strings.ToLower(submodelType)} }

// SemanticTerm returns the term of submodels and their descriptors by the first key of the semantic id.
func SemanticTerm(value string) Term { return Term{termSemantic, value} }

// CaseOfTerm returns the term of concept descriptions by the first key of a reference in isCaseOf.
func CaseOfTerm(value string) Term { return Term{termCaseOf, value} }

// DataSpecificationTerm returns the term of concept descriptions by the first key of a data specification.
func DataSpecificationTerm(value string) Term { return Term{termDataSpecification, value} }

// MaxTerms is how many facts a document may be found by at most: asset ids, references to
// submodels and the like.
const MaxTerms = 10_000

// terms gathers terms without repeats. It stops above [MaxTerms], which checkFacts refuses.
type terms struct {
	list []Term
	seen map[Term]struct{} // the list, when it is long
}

func newTerms(capacity int) *terms { return &terms{list: make([]Term, 0, min(capacity, MaxTerms+1))} }

func (t *terms) add(name, value string) {
	const long = 16
	term := Term{name, value}
	switch {
	case value == "" || len(t.list) > MaxTerms:
		return
	case len(t.list) < long:
		if slices.Contains(t.list, term) {
			return
		}
	default:
		if t.seen == nil {
			t.seen = make(map[Term]struct{}, 2*long)
			for _, known := range t.list {
				t.seen[known] = struct{}{}
			}
		}
		if _, known := t.seen[term]; known {
			return
		}
		t.seen[term] = struct{}{}
	}
	t.list = append(t.list, term)
}

func (t *terms) ref(name string, r *aas.Reference) {
	if r != nil && len(r.Keys) > 0 {
		t.add(name, r.Keys[0].Value)
	}
}

func (t *terms) assets(globalID string, ids []aas.SpecificAssetID) {
	if globalID != "" {
		t.add(termAsset, GlobalAssetIDName+"\x00"+globalID)
	}
	for i := range ids {
		t.add(termAsset, ids[i].Name+"\x00"+ids[i].Value)
	}
}

var shellForm = form[aas.Shell]{
	kind: KindShell, notFound: ErrShellNotFound, exists: ErrShellExists,
	id: func(s *aas.Shell) string { return s.ID },
	describe: func(s *aas.Shell, d *Document) {
		a := &s.AssetInformation
		t := newTerms(4 + len(a.SpecificAssetIDs) + len(s.Submodels))
		t.assets(a.GlobalAssetID, a.SpecificAssetIDs)
		t.add(termAssetKind, string(a.AssetKind))
		t.add(termAssetType, a.AssetType)
		for i := range s.Submodels {
			t.ref(termSubmodel, &s.Submodels[i])
		}
		d.IDShort, d.Terms = s.IDShort, t.list
	},
	files: func(s *aas.Shell) []string {
		if thumbnail := s.AssetInformation.DefaultThumbnail; thumbnail != nil {
			return []string{thumbnail.Path}
		}
		return nil
	},
}

var submodelForm = form[aas.Submodel]{
	kind: KindSubmodel, notFound: ErrSubmodelNotFound, exists: ErrSubmodelExists,
	id: func(s *aas.Submodel) string { return s.ID },
	describe: func(s *aas.Submodel, d *Document) {
		t := newTerms(4)
		for _, name := range TypesOf(s) {
			t.add(termType, name)
		}
		t.ref(termSemantic, s.SemanticID)
		d.IDShort, d.Terms, d.Live = s.IDShort, t.list, hasLive(s.Elements)
	},
	files: func(s *aas.Submodel) []string {
		var names []string
		aas.EachElement(s.Elements, func(e aas.Element) {
			if f, ok := e.(*aas.File); ok && f.Value != nil && *f.Value != "" {
				names = append(names, *f.Value)
			}
		})
		return names
	},
}

var conceptForm = form[aas.ConceptDescription]{
	kind: KindConceptDescription, notFound: ErrConceptNotFound, exists: ErrConceptExists,
	id: func(c *aas.ConceptDescription) string { return c.ID },
	describe: func(c *aas.ConceptDescription, d *Document) {
		t := newTerms(len(c.IsCaseOf) + len(c.EmbeddedDataSpecifications))
		for i := range c.IsCaseOf {
			t.ref(termCaseOf, &c.IsCaseOf[i])
		}
		for i := range c.EmbeddedDataSpecifications {
			t.ref(termDataSpecification, c.EmbeddedDataSpecifications[i].DataSpecification)
		}
		d.IDShort, d.Terms = c.IDShort, t.list
	},
}

var shellDescriptorForm = form[aas.ShellDescriptor]{
	kind: KindShellDescriptor, notFound: ErrDescriptorNotFound, exists: ErrDescriptorExists,
	id: func(s *aas.ShellDescriptor) string { return s.ID },
	describe: func(s *aas.ShellDescriptor, d *Document) {
		t := newTerms(3 + len(s.SpecificAssetIDs))
		t.assets(s.GlobalAssetID, s.SpecificAssetIDs)
		t.add(termAssetKind, string(s.AssetKind))
		t.add(termAssetType, s.AssetType)
		d.IDShort, d.Terms = s.IDShort, t.list
	},
}

var submodelDescriptorForm = form[aas.SubmodelDescriptor]{
	kind: KindSubmodelDescriptor, notFound: ErrDescriptorNotFound, exists: ErrDescriptorExists,
	id: func(s *aas.SubmodelDescriptor) string { return s.ID },
	describe: func(s *aas.SubmodelDescriptor, d *Document) {
		t := newTerms(1)
		t.ref(termSemantic, s.SemanticID)
		d.IDShort, d.Terms = s.IDShort, t.list
	},
}

// TypesOf returns what a submodel is called by those who look for a kind of submodel, in lower case: its
// idShort, and the last meaningful segment of its semantic id. Of a URL or URN that is the last one
// that is no version or revision (https://admin-shell.io/zvei/nameplate/2/0/Nameplate and .../nameplate/2/0
// both give nameplate), and that is not the word Submodel, unless there is no other; of an IRDI the part
// that identifies the concept.
func TypesOf(s *aas.Submodel) []string {
	var names []string
	if s.IDShort != "" {
		names = append(names, strings.ToLower(s.IDShort))
	}
	if s.SemanticID == nil || len(s.SemanticID.Keys) == 0 {
		return names
	}
	name := strings.ToLower(lastSegment(s.SemanticID.Keys[0].Value))
	if name != "" && (len(names) == 0 || names[0] != name) {
		names = append(names, name)
	}
	return names
}

// lastSegment returns the last segment of an identifier that is no version and says more than that it is a
// submodel. One of versions alone returns nothing.
func lastSegment(id string) string {
	isIRDI := !strings.Contains(id, "/") && strings.Count(id, "#") >= 1 && !strings.Contains(id, ":")
	segments := strings.FieldsFunc(id, func(r rune) bool { return r == '/' || r == '#' || r == ':' })
	if isIRDI && len(segments) > 1 { // 0173-1#01-AHX837#002: registry, concept, version
		return segments[1]
	}
	last := ""
	for _, s := range slices.Backward(segments) {
		switch {
		case isVersion(s):
		case !strings.EqualFold(s, string(aas.KeySubmodel)):
			return s
		case last == "":
			last = s
		}
	}
	return last
}

// isVersion holds for 3, 1.0, v2, V1.2.3 and the like.
func isVersion(s string) bool {
	if len(s) > 1 && (s[0] == 'v' || s[0] == 'V') {
		s = s[1:]
	}
	return strings.Trim(s, "0123456789.-_") == ""
}

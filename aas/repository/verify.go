package repository

import (
	"context"
	"regexp"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// maxFindings is how many findings are looked for.
const maxFindings = 10_000

// maxReported is how many findings an error has.
const maxReported = 100

// verify applies the service's verification to a document or an element and returns the findings that
// are no reason to refuse it.
func (s *Service) verify(ctx context.Context, what string, v any) ([]fault.Field, error) {
	return s.verifyAs(ctx, s.opts.Verification, what, v)
}

func (s *Service) verifyAs(ctx context.Context, mode Verification, what string, v any) ([]fault.Field, error) {
	findings, err := s.findingsAs(mode, v)
	if err != nil || len(findings) == 0 {
		return nil, err
	}
	if mode == VerifyStrict {
		return nil, refusal(findings)
	}
	s.warn(ctx, what, findings)
	return findings, nil
}

func (s *Service) warn(ctx context.Context, what string, findings []fault.Field) {
	s.log.WarnContext(ctx, "stored a document that breaks rules of the metamodel", "id", what, "findings", len(findings),
		"first", findings[0].Field+" "+findings[0].Message)
}

func refusal(findings []fault.Field) error {
	return aas.ErrInvalidRequest.Invalid(findings[:min(len(findings), maxReported)]...)
}

// findings returns what the service's verification finds; the error is for what no mode takes.
func (s *Service) findings(v any) ([]fault.Field, error) { return s.findingsAs(s.opts.Verification, v) }

func (s *Service) findingsAs(mode Verification, v any) ([]fault.Field, error) {
	if err := aas.ValidateTree(v); err != nil {
		return nil, err
	}
	if mode == VerifyOff {
		return nil, nil
	}
	found := aas.Findings(v, maxFindings)
	if s.opts.Verifier == nil {
		return found, nil
	}
	told := make(reportedRules, 2*len(found))
	for _, f := range found {
		told.add(f)
		told[f.Field] = true
	}
	for _, f := range s.opts.Verifier.Verify(v) {
		if told.add(f) {
			found = append(found, f)
		}
	}
	return found, nil
}

// reportedRules are what findings have told of, so that none is told again in other words: a constraint and
// what breaks it, a rule without a name and the member that breaks it, and members of which no rule
// without a name is to tell any more.
type reportedRules map[string]bool

// add reports whether a finding tells something new.
func (m reportedRules) add(f fault.Field) (fresh bool) {
	rules := constraints.FindAllString(f.Message, -1)
	if len(rules) == 0 {
		if m[f.Field] {
			return false
		}
		rules = []string{f.Message}
	}
	for _, name := range rules {
		key := about(name, f.Field) + " " + name
		fresh = fresh || !m[key]
		m[key] = true
	}
	return fresh
}

// constraints finds the names of constraints in a message, such as AASd-022.
var constraints = regexp.MustCompile(`AAS[a-z]-(?:3a-)?\d{3}`)

// about returns what the finding of a constraint is about: the list for one that entries of a list break
// together, where one may name the list and another an entry. Else it is the path of the finding.
func about(constraint, path string) string {
	if form := together[constraint]; form != nil {
		path = form.ReplaceAllString(path, "")
	}
	return strings.TrimPrefix(path, "$")
}

// together are the ends of paths that are omitted to have what a constraint is about.
var together = map[string]*regexp.Regexp{
	"AASd-021": regexp.MustCompile(`\[\d+\]\.type$`),
	"AASd-022": regexp.MustCompile(`\[\d+\]\.idShort$`),
	"AASd-077": regexp.MustCompile(`\[\d+\]\.name$`),
	"AASd-108": regexp.MustCompile(`\[\d+\]$`),
	"AASd-109": regexp.MustCompile(`\.?(valueTypeListElement|value\[\d+\]\.valueType)$`),
	"AASd-117": regexp.MustCompile(`(\[\d+\])?\.idShort$`),
	"AASd-134": regexp.MustCompile(`\.?(input|output|inoutput)Variables\[\d+\]\.value\.idShort$`),
}

// verifyChange is verify for a document that was there before: what it has broken already does not keep
// it from being changed.
func (r *Repository[T]) verifyChange(ctx context.Context, old Document, v *T, e *edit) error {
	var now any = v
	if e.subject != nil {
		now = e.subject
	}
	findings, err := r.s.findings(now)
	if err != nil || len(findings) == 0 {
		return err
	}
	if r.s.opts.Verification == VerifyStrict {
		before, found, err := r.before(old, e)
		if err != nil {
			return err
		}
		if added := without(now, findings, before, found); len(added) > 0 {
			return refusal(added)
		}
	}
	r.s.warn(ctx, old.ID, findings)
	return nil
}

// before returns what a change is verified by, as it was, and its findings.
func (r *Repository[T]) before(old Document, e *edit) (was any, found []fault.Field, err error) {
	v, err := r.decode(old)
	if err != nil {
		return nil, nil, err
	}
	was = v
	if e.subject != nil {
		p, err := aas.ParsePath(e.path)
		if err != nil {
			return nil, nil, err
		}
		if was, err = any(v).(*aas.Submodel).Element(p); err != nil {
			return nil, nil, err
		}
	}
	found, err = r.s.findings(was)
	return was, found, err
}

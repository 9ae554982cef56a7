package repository

import (
	"context"

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
	told := make(map[fault.Field]bool, len(found))
	for _, f := range found {
		told[f] = true
	}
	for _, f := range s.opts.Verifier.Verify(v) {
		if !told[f] {
			told[f] = true
			found = append(found, f)
		}
	}
	return found, nil
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

package aasapi

import "github.com/otkit/otkit/aas/repository"

func listConcepts(c *call) error {
	var q repository.Query
	for _, m := range []struct {
		member string
		term   func(string) repository.Term
	}{{"isCaseOf", repository.CaseOfTerm}, {"dataSpecificationRef", repository.DataSpecificationTerm}} {
		value, err := c.semantic(m.member)
		if err != nil {
			return err
		}
		if value != "" {
			q.Terms = append(q.Terms, m.term(value))
		}
	}
	return concepts.list(c, q, nil)
}

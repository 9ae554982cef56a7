package aasapi

import "github.com/otkit/otkit/aas"

func listConcepts(c *call) error {
	var q aas.Query
	for _, m := range []struct {
		member string
		term   func(string) aas.Term
	}{{"isCaseOf", aas.CaseOfTerm}, {"dataSpecificationRef", aas.DataSpecificationTerm}} {
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

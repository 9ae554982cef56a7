package rules

import (
	"context"
	"slices"
)

// Query selects rules. The zero Query selects all and returns none.
type Query struct {
	Tag           string // that Rule.Tag is; empty for any
	Offset, Limit int    // rules to skip and to return
}

// Store stores rules. It must be safe for concurrent use. A method whose context has ended returns an error. Package
// rulestest has a conformance suite.
//
// A store may also implement [Pager], [Versioner] and [StateStore]. [New] checks once, and the service works without
// what is missing.
type Store interface {
	// Rules returns all rules by ID. A stored rule that cannot be read has only its ID and Unreadable.
	Rules(ctx context.Context) ([]Rule, error)
	// Rule returns a rule or ErrNotFound.
	Rule(ctx context.Context, id string) (Rule, error)
	// AddRule stores a new rule or returns ErrExists.
	AddRule(ctx context.Context, r Rule) error
	// UpdateRule changes a rule atomically or returns ErrNotFound. update may be called more than once. If it
	// returns an error, UpdateRule returns that error and changes nothing. A change of the ID is ignored.
	UpdateRule(ctx context.Context, id string, update func(*Rule) error) error
	// RemoveRule removes a rule and its state, or returns ErrNotFound. If match returns an error for the rule, which may be one that is
	// only Unreadable, RemoveRule returns that error and removes nothing, atomically. match may be called more than once; nil matches any.
	RemoveRule(ctx context.Context, id string, match func(Rule) error) error
}

// Pager is an optional interface of a [Store]. Without it, all rules are read for each page.
type Pager interface {
	// RulePage returns a part of the rules that q selects, by ID, and their number. Unreadable ones are omitted.
	RulePage(ctx context.Context, q Query) ([]Rule, int, error)
}

// Versioner is an optional interface of a [Store]. [Options.PollInterval] requires it.
type Versioner interface {
	// RulesVersion returns a number that is different after each change of a rule, including an UpdateRule that
	// leaves it as it was. Changes of states do not count.
	RulesVersion(ctx context.Context) (int64, error)
}

// StateStore is an optional interface of a [Store], which stores the state of each rule's evaluation; see
// [Options.States]. It must be safe for concurrent use.
type StateStore interface {
	// RuleStates returns all states by RuleID.
	RuleStates(ctx context.Context) ([]State, error)
	// PutRuleStates stores states by RuleID in one transaction, replacing what is there. The state of
	// a rule that does not exist is skipped.
	PutRuleStates(ctx context.Context, states []State) error
}

// rulePage is RulePage for a store that is not a Pager.
func rulePage(ctx context.Context, store Store, q Query) ([]Rule, int, error) {
	list, err := store.Rules(ctx)
	if err != nil {
		return nil, 0, err
	}
	list = slices.DeleteFunc(list, func(r Rule) bool { return r.Unreadable || q.Tag != "" && r.Tag != q.Tag })
	from := min(q.Offset, len(list))
	return list[from:min(from+q.Limit, len(list))], len(list), nil
}

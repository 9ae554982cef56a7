package rules

import "context"

// Query selects rules. The zero Query selects all and returns none.
type Query struct {
	Tag           string // that Rule.Tag is; empty for any
	Offset, Limit int    // rules to skip and to return
}

// Store stores rules. It is safe for concurrent use.
type Store interface {
	// Rules returns all rules by ID. One that is stored and cannot be read has its ID and Unreadable alone.
	Rules(ctx context.Context) ([]Rule, error)
	// RulePage returns a part of the rules that q selects, by ID, and their number. Unreadable ones are omitted.
	RulePage(ctx context.Context, q Query) ([]Rule, int, error)
	// Rule returns a rule or ErrRuleNotFound.
	Rule(ctx context.Context, id string) (Rule, error)
	// AddRule stores a new rule or returns ErrRuleExists.
	AddRule(ctx context.Context, r Rule) error
	// UpdateRule changes a rule in one step or returns ErrRuleNotFound. update may be called more than
	// once; its error ends the call and is returned. ID cannot be changed.
	UpdateRule(ctx context.Context, id string, update func(*Rule) error) error
	// RemoveRule removes a rule and its state, or returns ErrRuleNotFound.
	RemoveRule(ctx context.Context, id string) error
	// RulesVersion returns a number that is another one after each change of a rule.
	RulesVersion(ctx context.Context) (int64, error)
}

// StateStore stores the state of each rule's evaluation. It is safe for concurrent use.
type StateStore interface {
	// RuleStates returns all states by RuleID.
	RuleStates(ctx context.Context) ([]State, error)
	// PutRuleStates stores states by RuleID in one transaction, replacing what is there. The state of
	// a rule that does not exist is skipped.
	PutRuleStates(ctx context.Context, states []State) error
}

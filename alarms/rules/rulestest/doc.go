// Package rulestest is the conformance suite for [rules.Store] and [rules.StateStore].
package rulestest

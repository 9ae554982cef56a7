// Package demo is a small plant for newcomers and for tests: a simulated line whose values move, react
// to what is written and have a past. It is repeatable: the same moment has the same values in every
// run, as long as nothing is written.
package demo

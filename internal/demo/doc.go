// Package demo is a small plant for newcomers and for tests: a simulated line whose values change, react
// to writes and have a past. It is repeatable: at the same time the values are the same in every run, as long as nothing is
// written.
package demo

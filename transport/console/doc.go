// Package console serves the web console of an engine, or the small one of a bridge: one page and its assets, which are in the binary. The views of the
// page are hash routes, so that every other path of the server means what it means without the console.
package console

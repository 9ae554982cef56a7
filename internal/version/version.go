// Package version has the version of otkit, the one place that logs, metrics, traces, the command and the
// requests of channels take it from.
package version

import "runtime/debug"

// linked is set by the linker in releases: -X github.com/otkit/otkit/internal/version.linked=1.2.3
var linked string

// String returns the version: the linker's, else that of the module a program was built from, else "dev".
func String() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/otkit/otkit" && m.Version != "" && m.Version != "(devel)" {
				return m.Version
			}
		}
	}
	return "dev"
}

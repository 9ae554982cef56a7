package settings

import (
	"strings"

	"github.com/otkit/otkit/internal/suggest"
)

// unknown returns the problem with a key that is not a member of a section. It suggests a member of the same section, or one of
// that very name elsewhere.
func unknown(root, in *setting, path []string, name string) string {
	const rule = "is not a known setting"
	var siblings []string
	for _, m := range in.members {
		siblings = append(siblings, m.name)
	}
	if near, ok := suggest.Nearest(name, siblings); ok {
		return rule + "; did you mean " + display(append(path[:len(path):len(path)], near)) + "?"
	}
	elsewhere := ""
	root.leaves(nil, "0", func(at []string, _ *setting) {
		if elsewhere == "" && strings.EqualFold(at[len(at)-1], name) {
			elsewhere = display(at)
		}
	})
	if elsewhere != "" {
		return rule + "; did you mean " + elsewhere + "?"
	}
	return rule
}

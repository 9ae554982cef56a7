package aaspart

import (
	"context"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// references returns the shells that show tags because of their names.
func (a *AAS) references(_ context.Context, tagIDs []string) (found []tagspart.Reference, err error) {
	for _, e := range a.opts.TagMapping.Equipment {
		for _, text := range e.Patterns {
			pattern, err := tags.CompilePattern(text)
			if err != nil {
				return nil, err
			}
			for _, id := range tagIDs {
				if pattern.Match(id) {
					found = append(found, tagspart.Reference{Tag: id, Kind: "shell", ID: e.ShellID})
				}
				if len(found) > 20 {
					return found, nil
				}
			}
		}
	}
	return found, nil
}

package tagspart

import (
	"context"
	"slices"

	"github.com/otkit/otkit/tags/tagconfig"
)

// Reference is a use of a tag, see [Tags.AddReferences].
type Reference = tagconfig.Reference

// References returns the uses of tags that the removal of the tags would break. It may return a part of them if there are
// more than 20. It is asked before tags are removed from the configuration, and must be safe for concurrent use.
type References func(ctx context.Context, tagIDs []string) ([]Reference, error)

// AddReferences adds somebody to ask who uses tags before they are removed from the configuration.
func (t *Tags) AddReferences(ask References) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.references = append(t.references, ask)
}

// References returns who uses tags, of all that were added with [Tags.AddReferences].
func (t *Tags) References(ctx context.Context, tagIDs []string) (all []Reference, err error) {
	t.mu.Lock()
	asked := slices.Clone(t.references)
	t.mu.Unlock()
	for _, ask := range asked {
		found, err := ask(ctx, tagIDs)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Configuration returns the store of the tag configuration.
func (t *Tags) Configuration() *tagconfig.Store { return t.config }

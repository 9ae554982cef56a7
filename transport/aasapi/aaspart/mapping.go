package aaspart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/server"
)

// TagMapping maps tags to submodels of shells.
type TagMapping struct {
	Mapper    *tagmap.Mapper // default: one with the default rules
	Equipment []MappedEquipment
}

// MappedEquipment is one piece of equipment whose tags are mapped.
type MappedEquipment struct {
	ShellID  string
	Category string   // equipmentCategory; may be empty
	Patterns []string // LIKE patterns over the names of its tags
}

// mapEvery is how soon a new tag or a new shell shows in the submodels.
const mapEvery = 10 * time.Second

// newValues lets live elements read and write the tags of an engine.
func newValues(engine *tags.Engine) (repository.ValueSource, error) {
	return tagmap.NewSource(engine, tagmap.SourceOptions{By: func(ctx context.Context) string {
		if p, known := auth.From(ctx); known {
			return p.Name
		}
		return ""
	}})
}

func (m *TagMapping) withDefaults() (err error) {
	if m.Mapper == nil {
		m.Mapper, err = tagmap.NewMapper(tagmap.Options{})
	}
	for i, e := range m.Equipment {
		for j, p := range e.Patterns {
			if _, failure := tags.CompilePattern(p); failure != nil {
				err = errors.Join(err, fmt.Errorf("asset administration shells: Options.TagMapping.Equipment[%d].Patterns[%d]: %w", i, j, failure))
			}
		}
	}
	return err
}

// mapping brings the tags into the submodels now and whenever they have changed, until ctx ends.
func (a *AAS) mapping(ctx context.Context) {
	reported := make(map[string]string) // what is wrong with a shell, which is logged when it changes
	a.mapTags(ctx, reported)
	server.Every(mapEvery, a.opts.Logger, "failed to map tags to submodels", func(ctx context.Context) error {
		a.mapTags(ctx, reported)
		return nil
	})(ctx)
}

func (a *AAS) mapTags(ctx context.Context, reported map[string]string) {
	for _, e := range a.opts.TagMapping.Equipment {
		mapped := tagmap.Equipment{ShellID: e.ShellID, Category: e.Category}
		list, err := a.tagsLike(e.Patterns)
		if err == nil {
			mapped.Tags = list
			err = a.opts.TagMapping.Mapper.Sync(ctx, a.service, mapped)
		}
		switch {
		case err == nil:
			delete(reported, e.ShellID)
		case ctx.Err() != nil:
			return
		case reported[e.ShellID] == err.Error():
		case errors.Is(err, repository.ErrShellNotFound):
			reported[e.ShellID] = err.Error()
			a.opts.Logger.Warn("tags not mapped: their shell does not exist yet", "shell", e.ShellID)
		default:
			reported[e.ShellID] = err.Error()
			a.opts.Logger.Error("failed to map tags to a submodel", "shell", e.ShellID, "error", err)
		}
	}
}

// tagsLike returns the tags whose names match one of the patterns.
func (a *AAS) tagsLike(patterns []string) ([]tags.Tag, error) {
	var list []tags.Tag
	seen := make(map[string]bool)
	for _, pattern := range patterns {
		for page := 1; ; page++ {
			found, total, err := a.engine.List(tags.ListQuery{Pattern: pattern, Page: page, PageSize: tags.MaxPageSize})
			if err != nil {
				return nil, err
			}
			for _, t := range found {
				if !seen[t.Tag.Name] {
					seen[t.Tag.Name] = true
					list = append(list, *t.Tag)
				}
			}
			if len(found) == 0 || page*tags.MaxPageSize >= total {
				break
			}
		}
	}
	return list, nil
}

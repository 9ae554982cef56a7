package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/auth"
)

// TagMapping says which tags become submodels of which shells.
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
func newValues(engine *tags.Engine) (aas.ValueSource, error) {
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
				err = errors.Join(err, fmt.Errorf("server: Options.TagMapping.Equipment[%d].Patterns[%d]: %w", i, j, failure))
			}
		}
	}
	return err
}

// startMapping brings the tags into the submodels now and whenever they have changed.
func (s *Server) startMapping() {
	if len(s.opts.TagMapping.Equipment) == 0 {
		return
	}
	s.wg.Go(func() {
		told := make(map[string]string) // what is wrong with a shell, which is logged when it changes
		s.mapTags(s.stopping, told)
		s.repeat(mapEvery, "tags cannot be mapped to submodels", func(ctx context.Context) error {
			s.mapTags(ctx, told)
			return nil
		})
	})
}

func (s *Server) mapTags(ctx context.Context, told map[string]string) {
	for _, e := range s.opts.TagMapping.Equipment {
		mapped := tagmap.Equipment{ShellID: e.ShellID, Category: e.Category}
		list, err := s.tagsLike(e.Patterns)
		if err == nil {
			mapped.Tags = list
			err = s.opts.TagMapping.Mapper.Sync(ctx, s.shells.service, mapped)
		}
		switch {
		case err == nil:
			delete(told, e.ShellID)
		case ctx.Err() != nil:
			return
		case told[e.ShellID] == err.Error():
		case errors.Is(err, aas.ErrShellNotFound):
			told[e.ShellID] = err.Error()
			s.log.Warn("tags wait for their shell", "shell", e.ShellID)
		default:
			told[e.ShellID] = err.Error()
			s.log.Error("tags cannot be mapped to submodels", "shell", e.ShellID, "error", err)
		}
	}
}

// tagsLike gives the tags whose names match one of the patterns.
func (s *Server) tagsLike(patterns []string) ([]tags.Tag, error) {
	var list []tags.Tag
	seen := make(map[string]bool)
	for _, pattern := range patterns {
		for page := 1; ; page++ {
			found, total, err := s.plant.engine.List(tags.ListQuery{Pattern: pattern, Page: page, Size: tags.MaxPageSize})
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

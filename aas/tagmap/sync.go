package tagmap

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
)

// Sync builds the submodels of a piece of equipment and brings them into a service: what is missing is
// added, live elements that the mapper made are renewed, and everything else that is in a submodel
// already stays as it is, so that people can complete it. The shell gets the references. Nothing is
// written when nothing differs. It gives ErrShellNotFound when the shell does not exist.
func (m *Mapper) Sync(ctx context.Context, s *aas.Service, e Equipment) error {
	if _, err := s.Shells.Document(ctx, e.ShellID); err != nil {
		return err
	}
	built := m.Submodels(e)
	for _, b := range built {
		if err := syncSubmodel(ctx, s, b); err != nil {
			return err
		}
	}
	refer := func(shell *aas.Shell) (changed bool) {
		for _, b := range built {
			if !slices.ContainsFunc(shell.Submodels, func(r aas.Reference) bool { return leadsTo(r, b.ID) }) {
				shell.Submodels = append(shell.Submodels, aas.RefTo(b.ID))
				changed = true
			}
		}
		return changed
	}
	shell, err := s.Shells.Get(ctx, e.ShellID)
	if err != nil || !refer(shell) {
		return err
	}
	_, err = s.Shells.Update(ctx, e.ShellID, aas.Match{}, func(shell *aas.Shell) error {
		refer(shell)
		return nil
	})
	return err
}

func leadsTo(r aas.Reference, submodelID string) bool {
	return len(r.Keys) == 1 && r.Keys[0].Value == submodelID
}

func syncSubmodel(ctx context.Context, s *aas.Service, built *aas.Submodel) error {
	_, err := s.Submodels.Create(ctx, built)
	if !errors.Is(err, aas.ErrSubmodelExists) {
		return err
	}
	now, err := s.Submodels.Get(ctx, built.ID)
	if err != nil {
		return err
	}
	before := aas.Append(nil, now)
	now.Elements = merge(now.Elements, built.Elements)
	if bytes.Equal(before, aas.Append(nil, now)) {
		return nil
	}
	_, err = s.Submodels.Update(ctx, built.ID, aas.Match{}, func(kept *aas.Submodel) error {
		kept.Elements = merge(kept.Elements, built.Elements)
		return nil
	})
	return err
}

// merge brings elements that were built into those that are there.
func merge(kept, built []aas.Element) []aas.Element {
	for _, b := range built {
		i := slices.IndexFunc(kept, func(k aas.Element) bool { return strings.EqualFold(k.Common().IDShort, b.Common().IDShort) })
		if i < 0 {
			kept = append(kept, b)
			continue
		}
		switch k := kept[i].(type) {
		case *aas.Collection:
			if c, ok := b.(*aas.Collection); ok {
				k.Value = merge(k.Value, c.Value)
			}
		case *aas.Property:
			if p, ok := b.(*aas.Property); ok && live(k) && live(p) {
				p.Value = k.Value // what was stored: the live value is filled in on reading
				kept[i] = p
			}
		}
	}
	return kept
}

func live(p *aas.Property) bool {
	return slices.ContainsFunc(p.Qualifiers, func(q aas.Qualifier) bool { return q.Type == aas.LiveQualifier })
}

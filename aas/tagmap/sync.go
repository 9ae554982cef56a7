package tagmap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// Sync builds the submodels of a piece of equipment and stores them as [SyncSubmodels] does.
func (m *Mapper) Sync(ctx context.Context, s *repository.Service, e Equipment) error {
	if _, err := s.Shells.Document(ctx, e.ShellID); err != nil {
		return err
	}
	return SyncSubmodels(ctx, s, e.ShellID, m.Submodels(e))
}

// GeneratedExtension is the name of the extension of elements that were built, but not of tags: see [SyncSubmodels].
const GeneratedExtension = "otkit:generated"

// SyncSubmodels brings submodels that were built into a service: what is missing is added, live elements
// that the mapper made are renewed, and everything else that is in a submodel already stays as it is, so
// that people can complete it. Elements with a [GeneratedExtension] are renewed too, and removed when
// they are no longer built. The shell gets the references. Nothing is written when nothing differs.
// It returns ErrShellNotFound when the shell does not exist, and ErrInvalidRequest when elements were
// omitted because the service refuses them, such as one with a unit that no document can hold; the others
// are there then.
func SyncSubmodels(ctx context.Context, s *repository.Service, shellID string, list []*aas.Submodel) error {
	var (
		refused error
		built   []*aas.Submodel
	)
	for _, b := range list {
		if err := syncSubmodel(ctx, s, b); err != nil {
			refused = errors.Join(refused, err)
			if !errors.Is(err, errLeftOut) {
				continue
			}
		}
		built = append(built, b)
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
	shell, err := s.Shells.Get(ctx, shellID)
	if err != nil || !refer(shell) {
		return errors.Join(refused, err)
	}
	_, err = s.Shells.Update(ctx, shellID, repository.Match{}, func(shell *aas.Shell) error {
		refer(shell)
		return nil
	})
	return errors.Join(refused, err)
}

func leadsTo(r aas.Reference, submodelID string) bool {
	return len(r.Keys) == 1 && r.Keys[0].Value == submodelID
}

// errLeftOut means that a submodel is stored without some of its elements.
var errLeftOut = errors.New("elements that the service refuses are left out")

func syncSubmodel(ctx context.Context, s *repository.Service, built *aas.Submodel) error {
	_, err := s.Submodels.Create(ctx, built)
	var left error
	for errors.Is(err, aas.ErrInvalidRequest) {
		refusal, _ := fault.From(err)
		if !leaveOut(built, refusal.Fields) {
			return err
		}
		if left == nil {
			left = errors.Join(errLeftOut, err)
		}
		_, err = s.Submodels.Create(ctx, built)
	}
	if errors.Is(err, repository.ErrSubmodelExists) {
		err = renew(ctx, s, built)
	}
	return errors.Join(left, err)
}

// leaveOut takes the elements out that findings are about, and reports whether there were any.
func leaveOut(s *aas.Submodel, findings []fault.Field) bool {
	bad := make(map[aas.Element]bool)
	for _, f := range findings {
		if e := at(s.Elements, strings.TrimPrefix(f.Field, "submodelElements")); e != nil {
			bad[e] = true
		}
	}
	s.Elements = without(s.Elements, bad)
	return len(bad) > 0
}

// at returns the innermost element that a path such as [3].value[1].description leads to.
func at(list []aas.Element, path string) aas.Element {
	var index int
	if n, _ := fmt.Sscanf(path, "[%d]", &index); n == 0 || index < 0 || index >= len(list) {
		return nil
	}
	_, rest, _ := strings.Cut(path, "]")
	if c, ok := list[index].(*aas.Collection); ok {
		if inner := at(c.Value, strings.TrimPrefix(rest, ".value")); inner != nil {
			return inner
		}
	}
	return list[index]
}

func without(list []aas.Element, bad map[aas.Element]bool) []aas.Element {
	list = slices.DeleteFunc(list, func(e aas.Element) bool { return bad[e] })
	for _, e := range list {
		if c, ok := e.(*aas.Collection); ok {
			c.Value = without(c.Value, bad)
		}
	}
	return list
}

// renew brings what was built into the submodel that is there.
func renew(ctx context.Context, s *repository.Service, built *aas.Submodel) error {
	now, err := s.Submodels.Get(ctx, built.ID)
	if err != nil {
		return err
	}
	before := aas.Append(nil, now)
	now.Elements = merge(now.Elements, built.Elements)
	if bytes.Equal(before, aas.Append(nil, now)) {
		return nil
	}
	_, err = s.Submodels.Update(ctx, built.ID, repository.Match{}, func(kept *aas.Submodel) error {
		kept.Elements = merge(kept.Elements, built.Elements)
		return nil
	})
	return err
}

// merge brings elements that were built into those that are there.
func merge(kept, built []aas.Element) []aas.Element {
	kept = slices.DeleteFunc(kept, func(k aas.Element) bool { return generated(k) && find(built, k) < 0 })
	for _, b := range built {
		i := find(kept, b)
		if i < 0 {
			kept = append(kept, b)
			continue
		}
		k, isProperty := kept[i].(*aas.Property)
		p, toProperty := b.(*aas.Property)
		switch {
		case isProperty && toProperty && live(k) && live(p):
			p.Value = k.Value // what was stored: the live value is filled in on reading
			kept[i] = p
		case generated(kept[i]), generated(b) && isProperty && live(k):
			kept[i] = b
		default:
			if k, ok := kept[i].(*aas.Collection); ok {
				if c, ok := b.(*aas.Collection); ok {
					k.Value = merge(k.Value, c.Value)
				}
			}
		}
	}
	return kept
}

// find returns where the element with the idShort of e is, -1 if there is none.
func find(list []aas.Element, e aas.Element) int {
	return slices.IndexFunc(list, func(x aas.Element) bool { return strings.EqualFold(x.Common().IDShort, e.Common().IDShort) })
}

func generated(e aas.Element) bool {
	return slices.ContainsFunc(e.Common().Extensions, func(x aas.Extension) bool { return x.Name == GeneratedExtension })
}

func live(p *aas.Property) bool {
	return slices.ContainsFunc(p.Qualifiers, func(q aas.Qualifier) bool { return q.Type == repository.LiveQualifier })
}

package aasx

import (
	"archive/zip"
	"bytes"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/aas/repository"
)

type identity struct {
	kind repository.Kind
	id   string
}

// merger makes one environment of several, since a package may hold the same in two formats or in parts.
type merger struct {
	into *aas.Environment
	seen map[identity][]byte // canonical form of what earlier parts have
}

// add reads the environment of a part. One that is alone is not looked at further.
func (m *merger) add(f *zip.File, l aasxml.Limits, alone bool) error {
	env, err := readEnvironment(f, l)
	if err != nil {
		return err
	}
	if alone {
		*m.into = *env
		return nil
	}
	added := make(map[identity][]byte)
	if m.into.Shells, err = take(m, added, f, repository.KindShell, m.into.Shells, env.Shells, func(s *aas.Shell) string { return s.ID }); err != nil {
		return err
	}
	if m.into.Submodels, err = take(m, added, f, repository.KindSubmodel, m.into.Submodels, env.Submodels, func(s *aas.Submodel) string { return s.ID }); err != nil {
		return err
	}
	m.into.ConceptDescriptions, err = take(m, added, f, repository.KindConceptDescription, m.into.ConceptDescriptions, env.ConceptDescriptions,
		func(c *aas.ConceptDescription) string { return c.ID })
	for id, form := range added {
		m.seen[id] = form
	}
	return err
}

func take[T aas.Model](m *merger, added map[identity][]byte, f *zip.File, kind repository.Kind, into, list []*T, id func(*T) string) ([]*T, error) {
	for _, v := range list {
		key, form := identity{kind, id(v)}, aas.Append(nil, v)
		earlier, ok := m.seen[key]
		if !ok {
			added[key] = form
			into = append(into, v)
		} else if !bytes.Equal(earlier, form) {
			return nil, bad("has %q twice, and part %q says another thing of it", key.id, f.Name)
		}
	}
	return into, nil
}

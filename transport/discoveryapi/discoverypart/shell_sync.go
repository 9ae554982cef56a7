package discoverypart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

// bridgeExtension is the name of the extension of what the engine has made for a bridge, whose id is the value. Only that is removed again.
const bridgeExtension = "otkit:bridge"

// sync brings the shell of a bridge up to date.
func (s *shells) sync(ctx context.Context, p pendingShell) error {
	m := &p.manifest
	list, err := discovery.Tags(*m)
	if err != nil {
		return err
	}
	if p.tags > len(list) {
		s.log.Info("the shell of a bridge has a part of its tags only", "bridge", m.BridgeID, "tags", p.tags, "limit", maxShellTags)
	}
	former, err := s.made(ctx, m.BridgeID)
	if err != nil {
		return err
	}
	c, problem := configOf(m)
	if own := ShellID(m.BridgeID); c.ID != own {
		if other, ok := strings.CutPrefix(c.ID, strings.TrimSuffix(own, m.BridgeID)); ok && s.isBound(other) { // both would fill it
			problem = fmt.Sprintf("the id %s is that of the shell of bridge %s", c.ID, other)
		}
	}
	if problem == "" {
		problem, err = s.ensure(ctx, m, c, former)
	}
	if problem != "" && err == nil {
		c.ID = ShellID(m.BridgeID)
		_, err = s.ensure(ctx, m, c, former)
	}
	if err != nil {
		return err
	}
	s.tell(m.BridgeID, problem)
	if problem != "" {
		s.again(p, maxShellDelay)
	}
	former = slices.DeleteFunc(former, func(f *aas.Shell) bool { return f.ID == c.ID })
	built := s.builder.Environment(c, list).Submodels
	var brought []string
	for _, b := range built {
		b.Extensions = []aas.Extension{{Name: bridgeExtension, Value: &m.BridgeID}}
		id, err := s.bring(ctx, m.BridgeID, former, b)
		if err != nil {
			return err
		}
		brought = append(brought, id)
	}
	refused := tagmap.SyncSubmodels(ctx, s.service, c.ID, built)
	if refused != nil && (!errors.Is(refused, aas.ErrInvalidRequest) || errors.Is(refused, repository.ErrShellNotFound)) {
		return ignoreRemoved(refused)
	}
	err = ignoreRemoved(s.reduce(ctx, m, c.ID, built))
	for _, f := range former {
		err = errors.Join(err, s.remove(ctx, m, f, c.ID, brought))
	}
	return errors.Join(refused, err)
}

// ignoreRemoved returns nil if a person has removed the shell.
func ignoreRemoved(err error) error {
	if errors.Is(err, repository.ErrShellNotFound) {
		return nil
	}
	return err
}

// configOf returns what the bridge says about its shell. If that is not valid, it returns the default one and the reason.
func configOf(m *link.Manifest) (c shellconfig.Config, problem string) {
	of := func(shell link.Shell) shellconfig.Config {
		return shellconfig.Config{ID: shell.ID, IDShort: shell.IDShort, GlobalAssetID: shell.GlobalAssetID,
			EquipmentCategory: shell.EquipmentCategory, Nameplate: shellconfig.Nameplate(shell.Nameplate)}
	}
	c = of(m.ShellOrDefault())
	if err := c.Validate(); err != nil {
		c, problem = of(link.DefaultShell(m.BridgeID)), "what it is configured to be is not valid: "+err.Error()
	}
	c.ActiveSubmodels = append([]string{}, discovery.Submodels(*m)...)
	return c, problem
}

// isOf reports whether the engine has made something for a bridge.
func isOf(r *aas.Referable, bridgeID string) bool {
	return slices.ContainsFunc(r.Extensions, func(x aas.Extension) bool {
		return x.Name == bridgeExtension && x.Value != nil && *x.Value == bridgeID
	})
}

func bridgeAsset(bridgeID string) aas.SpecificAssetID {
	return aas.SpecificAssetID{Name: "bridgeId", Value: bridgeID}
}

// made returns the shells that the engine has made for a bridge: the present one, and former ones.
func (s *shells) made(ctx context.Context, bridgeID string) (list []*aas.Shell, err error) {
	for shell, err := range s.service.Shells.All(ctx, repository.Query{Limit: 100, Terms: []repository.Term{repository.AssetTerm("bridgeId", bridgeID)}}) {
		if err != nil {
			return nil, err
		}
		if isOf(&shell.Referable, bridgeID) {
			list = append(list, shell)
		}
	}
	return list, nil
}

// ensure creates the shell of a bridge, or gives the one that is there its present names. If the id is that of a shell of somebody else, or
// the service refuses the shell, it returns the problem; the default id is never a problem.
func (s *shells) ensure(ctx context.Context, m *link.Manifest, c shellconfig.Config, former []*aas.Shell) (problem string, err error) {
	free := c.ID == ShellID(m.BridgeID)
	shell, err := s.service.Shells.Get(ctx, c.ID)
	switch {
	case errors.Is(err, repository.ErrShellNotFound):
		if shell, err = s.successor(ctx, m.BridgeID, former); err != nil {
			return "", err
		}
		shell.ID = c.ID
		identify(shell, m, c)
		s.note(c.ID, m.BridgeID)
		_, err = s.service.Shells.Create(ctx, shell)
		if errors.Is(err, aas.ErrInvalidRequest) && !free {
			return fmt.Sprintf("the shell %s is not valid: %v", c.ID, err), nil
		}
		return "", err
	case err != nil:
		return "", err
	case !isOf(&shell.Referable, m.BridgeID) && !slices.ContainsFunc(shell.AssetInformation.SpecificAssetIDs, isAsset(m.BridgeID)):
		if free { // a person's, to be completed
			s.note(c.ID, m.BridgeID)
			return "", nil
		}
		return fmt.Sprintf("there is another shell with the id %s, which is not of this bridge", c.ID), nil
	}
	s.note(c.ID, m.BridgeID)
	_, err = s.service.Shells.Update(ctx, c.ID, repository.Match{}, func(shell *aas.Shell) error {
		identify(shell, m, c)
		return nil
	})
	return "", ignoreRemoved(err)
}

func isAsset(bridgeID string) func(aas.SpecificAssetID) bool {
	return func(a aas.SpecificAssetID) bool { return a.Name == "bridgeId" && a.Value == bridgeID }
}

// identify gives a shell the names that the bridge is configured to have.
func identify(shell *aas.Shell, m *link.Manifest, c shellconfig.Config) {
	asset := &shell.AssetInformation
	shell.IDShort, asset.GlobalAssetID, asset.AssetKind = c.IDShort, c.GlobalAssetID, aas.Instance
	if kind := aas.AssetKind(m.ShellOrDefault().AssetKind); kind == aas.Type || kind == aas.Role {
		asset.AssetKind = kind
	}
	if !slices.ContainsFunc(asset.SpecificAssetIDs, isAsset(m.BridgeID)) {
		asset.SpecificAssetIDs = append(asset.SpecificAssetIDs, bridgeAsset(m.BridgeID), aas.SpecificAssetID{Name: "driverType", Value: m.DriverType})
	}
}

// successor returns a new shell with what people have added to the former one, and with its references to their submodels.
func (s *shells) successor(ctx context.Context, bridgeID string, former []*aas.Shell) (*aas.Shell, error) {
	shell := &aas.Shell{}
	shell.Extensions = []aas.Extension{{Name: bridgeExtension, Value: &bridgeID}}
	if len(former) == 0 {
		return shell, nil
	}
	*shell = *former[0]
	own, err := s.ownSubmodels(ctx, bridgeID, shell)
	shell.AssetInformation.DefaultThumbnail = nil // its file belongs to the former one
	shell.Submodels = slices.DeleteFunc(slices.Clone(shell.Submodels), func(r aas.Reference) bool { return slices.Contains(own, target(r)) })
	return shell, err
}

// target returns the id of the submodel that a reference leads to, empty for none.
func target(r aas.Reference) string {
	if len(r.Keys) != 1 {
		return ""
	}
	return r.Keys[0].Value
}

// ownSubmodels returns the ids of the submodels of a shell that the engine has made for a bridge.
func (s *shells) ownSubmodels(ctx context.Context, bridgeID string, shell *aas.Shell) (ids []string, err error) {
	var all []string
	for _, r := range shell.Submodels {
		if id := target(r); id != "" {
			all = append(all, id)
		}
	}
	list, _, err := s.service.SubmodelHeads(ctx, all...)
	for _, m := range list {
		if isOf(&m.Referable, bridgeID) {
			ids = append(ids, m.ID)
		}
	}
	return ids, err
}

// bring copies a submodel of the former shell to its new id, so that what people have added to it is not lost. It returns the id that the
// submodel had; empty if it was not copied.
func (s *shells) bring(ctx context.Context, bridgeID string, former []*aas.Shell, b *aas.Submodel) (brought string, err error) {
	for _, f := range former {
		id := s.builder.SubmodelID(f.ID, b.IDShort)
		old, err := s.service.Submodels.Get(ctx, id)
		if errors.Is(err, repository.ErrSubmodelNotFound) || err == nil && !isOf(&old.Referable, bridgeID) {
			continue
		} else if err != nil {
			return "", err
		}
		old.ID = b.ID
		_, err = s.service.Submodels.Create(ctx, old)
		if errors.Is(err, repository.ErrSubmodelExists) { // of an attempt before this one, or of somebody else
			if now, failed := s.service.Submodels.Get(ctx, b.ID); failed != nil || isOf(&now.Referable, bridgeID) {
				err = failed
			}
		}
		switch {
		case errors.Is(err, repository.ErrSubmodelExists), errors.Is(err, aas.ErrInvalidRequest):
			return "", nil
		case err != nil:
			return "", err
		}
		return id, nil
	}
	return "", nil
}

// reduce removes the submodels from a shell that the engine has made for a bridge and that are not active any more. It deletes those that were
// deactivated.
func (s *shells) reduce(ctx context.Context, m *link.Manifest, shellID string, built []*aas.Submodel) error {
	shell, err := s.service.Shells.Get(ctx, shellID)
	if err != nil {
		return err
	}
	shell.Submodels = slices.DeleteFunc(shell.Submodels, func(r aas.Reference) bool {
		return slices.ContainsFunc(built, func(b *aas.Submodel) bool { return b.ID == target(r) })
	})
	gone, err := s.ownSubmodels(ctx, m.BridgeID, shell)
	if err != nil || len(gone) == 0 {
		return err
	}
	// The references go last: if this ends halfway, the next attempt finds what is left.
	discarded := slices.DeleteFunc(slices.Clone(gone), func(id string) bool { return !s.isDeactivated(m, shellID, id) })
	if err := s.discard(ctx, shellID, discarded); err != nil {
		return err
	}
	_, err = s.service.Shells.Update(ctx, shellID, repository.Match{}, func(shell *aas.Shell) error {
		shell.Submodels = slices.DeleteFunc(shell.Submodels, func(r aas.Reference) bool { return slices.Contains(gone, target(r)) })
		return nil
	})
	return err
}

// isDeactivated reports whether a submodel of a shell is one that the bridge could have and is configured not to have. If it cannot have one, its
// tags are missing: when they are back, so is what people have added.
func (s *shells) isDeactivated(m *link.Manifest, shellID, submodelID string) bool {
	active := discovery.Submodels(*m)
	return slices.ContainsFunc(m.AvailableSubmodels, func(name string) bool {
		return !slices.Contains(active, name) && s.builder.SubmodelID(shellID, name) == submodelID
	})
}

// remove removes a former shell of a bridge with the submodels that the engine has made for it, of which some were brought to the present one.
// The present one gets what people have referred to, if it is not the successor of the former one.
func (s *shells) remove(ctx context.Context, m *link.Manifest, former *aas.Shell, present string, brought []string) error {
	own, err := s.ownSubmodels(ctx, m.BridgeID, former)
	if err != nil {
		return err
	}
	_, err = s.service.Shells.Update(ctx, present, repository.Match{}, func(shell *aas.Shell) error {
		for _, r := range former.Submodels {
			refers := func(have aas.Reference) bool { return target(have) == target(r) }
			if !slices.Contains(own, target(r)) && !slices.ContainsFunc(shell.Submodels, refers) {
				shell.Submodels = append(shell.Submodels, r)
			}
		}
		return nil
	})
	if err != nil {
		return ignoreRemoved(err)
	}
	gone := slices.DeleteFunc(own, func(id string) bool { return !slices.Contains(brought, id) && !s.isDeactivated(m, former.ID, id) })
	if err := s.discard(ctx, former.ID, gone); err != nil {
		return err
	}
	if err := ignoreRemoved(s.service.Shells.Delete(ctx, former.ID, repository.Match{})); err != nil {
		return err
	}
	s.log.Info("the shell of a bridge has another id; the former one is removed", "bridge", m.BridgeID, "former", former.ID)
	return nil
}

// discard removes submodels of a shell, but not those that other shells have too, and not those with files, which people have added.
func (s *shells) discard(ctx context.Context, shellID string, ids []string) error {
	for _, id := range ids {
		page, err := s.service.Shells.FindStored(ctx, repository.Query{Limit: 2, WithoutJSON: true, Terms: []repository.Term{repository.SubmodelTerm(id)}})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(page.Documents, func(d repository.Document) bool { return d.ID != shellID }) {
			continue
		}
		if files, err := s.service.FileNames(ctx, repository.KindSubmodel, id); err != nil {
			return err
		} else if len(files) > 0 {
			continue
		}
		if err := s.service.Submodels.Delete(ctx, id, repository.Match{}); err != nil && !errors.Is(err, repository.ErrSubmodelNotFound) {
			return err
		}
	}
	return nil
}

package repository

import (
	"context"
	"errors"
	"slices"

	"github.com/otkit/otkit/aas"
)

// DeleteSubmodelOf removes a submodel with its files, and the references of a shell to it, both or
// neither. Match is about the submodel, as in [Repository.Delete].
func (s *Service) DeleteSubmodelOf(ctx context.Context, shellID, id string, m Match) error {
	if badID(id) != "" {
		return s.Submodels.missing(id)
	}
	unlock, err := s.locks.lockAll(ctx, []Document{{Kind: KindShell, ID: shellID}, {Kind: KindSubmodel, ID: id}})
	if err != nil {
		return err
	}
	defer unlock()
	return s.retry(ctx, func() error {
		list, err := s.Shells.stored(ctx, shellID)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return s.Shells.missing(shellID)
		}
		shell, err := s.Shells.decode(list[0])
		if err != nil {
			return err
		}
		shell.Submodels = slices.DeleteFunc(shell.Submodels, func(r aas.Reference) bool {
			return len(r.Keys) > 0 && r.Keys[0] == aas.Key{Type: aas.KeySubmodel, Value: id}
		})
		without := Document{Kind: KindShell, ID: shellID}
		if err := encodeInto(ctx, s, s.Shells.form, shell, &without, &list[0]); err != nil {
			return err
		}
		return s.writeBoth(ctx, without, list[0].Version, id, m)
	})
}

// writeBoth keeps a shell in place of a version and deletes a submodel.
func (s *Service) writeBoth(ctx context.Context, shell Document, version uint64, id string, m Match) error {
	versions, err := s.store.Write(ctx, Batch{Changes: []Change{
		{Document: Document{Kind: KindSubmodel, ID: id}, Delete: true, Match: Match{Exists: true, Absent: m.Absent, Version: m.Version}},
		{Document: shell, Match: Match{Version: version}},
	}})
	var mismatch *MismatchError
	switch {
	case !errors.As(err, &mismatch):
	case mismatch.Index > 0:
		return errAgain
	case mismatch.Version == 0:
		return s.Submodels.missing(id)
	default:
		return ErrVersionChanged.On("id", id)
	}
	if err != nil {
		return err
	}
	now := s.now()
	s.hub.publish(Event{Type: Deleted, Kind: KindSubmodel, ID: id, Version: versions[0], At: now},
		Event{Type: Updated, Kind: KindShell, ID: shell.ID, Version: versions[1], At: now})
	return nil
}

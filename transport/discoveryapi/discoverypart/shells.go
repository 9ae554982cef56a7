package discoverypart

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/backoff"
)

const (
	shellPrefix = "urn:otkit:bridge:"
	assetPrefix = "urn:otkit:asset:bridge:"

	// maxShellTags is how many tags of a bridge are in its shell: those first in its manifest. A submodel is read and written as one document.
	maxShellTags = 2000

	shellInterval = 500 * time.Millisecond // between two looks for what is to be made
	maxShellDelay = time.Minute            // between two attempts that fail: each reads the manifest
)

// ShellID returns the id of the shell of a bridge.
func ShellID(bridgeID string) string { return shellPrefix + bridgeID }

// shells makes a shell for each bridge. What is there stays as it is: people may complete it.
type shells struct {
	store   discovery.Store
	service *repository.Service
	log     *slog.Logger
	failed  string // why, as logged

	mu      sync.Mutex
	pending map[string]time.Time // by bridge id: not before
	// failures in a row by bridge id; of run alone.
	failures map[string]int
}

func newShells(store discovery.Store, service *repository.Service, log *slog.Logger) *shells {
	return &shells{store: store, service: service, log: log, pending: map[string]time.Time{}, failures: map[string]int{}}
}

// add lets the shell of a bridge be made or brought up to date soon.
func (s *shells) add(bridgeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[bridgeID] = time.Time{}
}

// take returns the bridges whose shells are to be made now.
func (s *shells) take() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, at := range s.pending {
		if !time.Now().Before(at) {
			ids = append(ids, id)
			delete(s.pending, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// run makes shells until ctx ends.
func (s *shells) run(ctx context.Context) {
	ticker := time.NewTicker(shellInterval)
	defer ticker.Stop()
	for {
		for _, id := range s.take() {
			if err := s.sync(ctx, id); err == nil {
				delete(s.failures, id)
			} else if ctx.Err() == nil {
				s.fail(id, err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// fail notes a shell that could not be made. What the service refuses is not tried again.
func (s *shells) fail(id string, err error) {
	if s.failed != err.Error() {
		s.failed = err.Error()
		s.log.Error("failed to make the shell of a bridge", "bridge", id, "error", err)
	}
	if errors.Is(err, aas.ErrInvalidRequest) {
		delete(s.failures, id)
		return
	}
	s.failures[id]++
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.pending[id]; !again {
		s.pending[id] = time.Now().Add(backoff.Delay(shellInterval, maxShellDelay, s.failures[id]))
	}
}

func (s *shells) sync(ctx context.Context, bridgeID string) error {
	m, err := s.store.Manifest(ctx, bridgeID)
	if errors.Is(err, discovery.ErrNotBound) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err := s.service.Shells.Create(ctx, shellOf(m)); err != nil && !errors.Is(err, repository.ErrShellExists) {
		return err
	}
	active := discovery.Submodels(m)
	mapper, err := newMapper(active)
	if err != nil {
		return err
	}
	if n := len(m.Tags); n > maxShellTags {
		s.log.Info("the shell of a bridge has a part of its tags only", "bridge", bridgeID, "tags", n, "limit", maxShellTags)
		m.Tags = m.Tags[:maxShellTags]
	}
	list, err := discovery.Tags(m)
	if err != nil {
		return err
	}
	err = mapper.Sync(ctx, s.service, tagmap.Equipment{ShellID: ShellID(bridgeID), Tags: list})
	if err != nil && !errors.Is(err, aas.ErrInvalidRequest) || errors.Is(err, repository.ErrShellNotFound) {
		return ignoreRemoved(err)
	}
	return errors.Join(err, ignoreRemoved(s.complete(ctx, bridgeID, active)))
}

// ignoreRemoved returns nil if a person has removed the shell.
func ignoreRemoved(err error) error {
	if errors.Is(err, repository.ErrShellNotFound) {
		return nil
	}
	return err
}

// newMapper returns a mapper to those of the submodels that tags can be mapped to.
func newMapper(active []string) (*tagmap.Mapper, error) {
	rules := slices.DeleteFunc(tagmap.DefaultRules(), func(r tagmap.Rule) bool { return !slices.Contains(active, string(r.Target)) })
	return tagmap.NewMapper(tagmap.Options{Rules: rules, WithoutDefaults: true})
}

// complete adds the active submodels that no tag was mapped to: they are empty, and people fill them.
func (s *shells) complete(ctx context.Context, bridgeID string, active []string) error {
	shell, err := s.service.Shells.Get(ctx, ShellID(bridgeID))
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range active {
		id := ShellID(bridgeID) + ":" + name
		if slices.ContainsFunc(shell.Submodels, func(r aas.Reference) bool { return len(r.Keys) == 1 && r.Keys[0].Value == id }) {
			continue
		}
		submodel := &aas.Submodel{}
		submodel.ID, submodel.IDShort = id, idShort(name, "Submodel_")
		if _, err := s.service.Submodels.Create(ctx, submodel); err != nil && !errors.Is(err, repository.ErrSubmodelExists) {
			return err
		}
		missing = append(missing, id)
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = s.service.Shells.Update(ctx, ShellID(bridgeID), repository.Match{}, func(shell *aas.Shell) error {
		for _, id := range missing {
			shell.Submodels = append(shell.Submodels, aas.RefTo(id))
		}
		return nil
	})
	return err
}

func shellOf(m link.Manifest) *aas.Shell {
	s := &aas.Shell{AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: assetPrefix + m.BridgeID,
		SpecificAssetIDs: []aas.SpecificAssetID{{Name: "bridgeId", Value: m.BridgeID}, {Name: "driverType", Value: m.DriverType}}}}
	s.ID, s.IDShort = ShellID(m.BridgeID), idShort(m.BridgeID, "Bridge_")
	return s
}

// idShort returns a text by the rules of the standard: letters, digits, - and _, with a letter at the beginning.
func idShort(text, prefix string) string {
	text = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, text)
	if c := text[0] | 0x20; c < 'a' || c > 'z' || len(text) < 2 {
		text = prefix + text
	}
	return strings.TrimRight(text[:min(len(text), 128)], "-")
}

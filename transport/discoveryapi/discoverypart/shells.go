package discoverypart

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/backoff"
)

const (
	// maxShellTags is how many tags of a bridge are in its shell: those first in its manifest. A submodel is read and written as one document.
	maxShellTags = 2000

	shellInterval = 500 * time.Millisecond // between two looks for what is to be made
	maxShellDelay = time.Minute            // between two attempts that fail, or that find the id of a shell taken
)

// ShellID returns the id of the shell of a bridge that is not configured to have another one.
func ShellID(bridgeID string) string { return link.DefaultShell(bridgeID).ID }

// shells makes a shell for each bridge. What is there stays as it is: people may complete it.
type shells struct {
	service *repository.Service
	builder *shellconfig.Builder
	log     *slog.Logger
	// looksAfter reports whether this engine looks after a bridge: of several, one makes its shell.
	looksAfter func(bridgeID string) bool
	// report takes why the shell of a bridge does not have the id that it is configured to have; empty for no reason.
	report func(bridgeID, problem string)
	failed string // why, as logged

	mu      sync.Mutex
	pending map[string]pendingShell // by bridge id
	bound   map[string]bool         // by bridge id
	ids     map[string]string       // bridge ids by those of the shells that were made for them
	// failures in a row, and what report was given, by bridge id; of run alone.
	failures map[string]int
	problems map[string]string
}

// pendingShell is a shell that is to be made.
type pendingShell struct {
	at       time.Time // not before
	manifest link.Manifest
	tags     int // of the bridge; the manifest has at most maxShellTags
}

func newShells(service *repository.Service, log *slog.Logger, looksAfter func(bridgeID string) bool, report func(bridgeID, problem string)) (*shells, error) {
	builder, err := shellconfig.NewBuilder()
	if err != nil {
		return nil, err
	}
	return &shells{service: service, builder: builder, log: log, looksAfter: looksAfter, report: report, pending: map[string]pendingShell{}, bound: map[string]bool{}, ids: map[string]string{},
		failures: map[string]int{}, problems: map[string]string{}}, nil
}

// add lets the shell of a bridge be made or brought up to date soon, if this engine looks after the bridge.
func (s *shells) add(m link.Manifest) {
	ours := s.looksAfter(m.BridgeID)
	s.mu.Lock()
	s.bound[m.BridgeID] = true
	if ours {
		p := pendingShell{manifest: m, tags: len(m.Tags)}
		p.manifest.Tags = slices.Clone(m.Tags[:min(len(m.Tags), maxShellTags)])
		s.pending[m.BridgeID] = p
	}
	s.mu.Unlock()
	if !ours {
		c, _ := configOf(&m) // as the one that makes it does, unless the id is taken
		s.note(c.ID, m.BridgeID)
	}
}

// forget makes nothing more for a bridge. Its shell stays: people may have completed it.
func (s *shells) forget(bridgeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, bridgeID)
	delete(s.bound, bridgeID)
	maps.DeleteFunc(s.ids, func(_, bridge string) bool { return bridge == bridgeID })
}

func (s *shells) isBound(bridgeID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bound[bridgeID]
}

// note remembers which shell is that of a bridge, unless the bridge was unbound meanwhile.
func (s *shells) note(shellID, bridgeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.ids, func(_, bridge string) bool { return bridge == bridgeID })
	if s.bound[bridgeID] {
		s.ids[shellID] = bridgeID
	}
}

// isShell reports whether a shell was made for a bridge that is bound.
func (s *shells) isShell(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ids[id]
	return ok
}

// take returns the shells that are to be made now.
func (s *shells) take() (due []pendingShell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.pending {
		if !time.Now().Before(p.at) {
			due = append(due, p)
			delete(s.pending, id)
		}
	}
	unbound := func(id string) bool { return !s.bound[id] }
	maps.DeleteFunc(s.failures, func(id string, _ int) bool { return unbound(id) })
	maps.DeleteFunc(s.problems, func(id, _ string) bool { return unbound(id) })
	slices.SortFunc(due, func(a, b pendingShell) int { return strings.Compare(a.manifest.BridgeID, b.manifest.BridgeID) })
	return due
}

// run makes shells until ctx ends.
func (s *shells) run(ctx context.Context) {
	ticker := time.NewTicker(shellInterval)
	defer ticker.Stop()
	for {
		for _, p := range s.take() {
			if !s.looksAfter(p.manifest.BridgeID) { // the engine that does, makes it
				continue
			}
			if err := s.sync(ctx, p); err == nil {
				delete(s.failures, p.manifest.BridgeID)
			} else if ctx.Err() == nil {
				s.fail(p, err)
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
func (s *shells) fail(p pendingShell, err error) {
	id := p.manifest.BridgeID
	if s.failed != err.Error() {
		s.failed = err.Error()
		s.log.Error("failed to make the shell of a bridge", "bridge", id, "error", err)
	}
	if errors.Is(err, aas.ErrInvalidRequest) {
		delete(s.failures, id)
		return
	}
	s.failures[id]++
	s.again(p, backoff.Delay(shellInterval, maxShellDelay, s.failures[id]))
}

// again makes a shell later, unless its bridge has a newer manifest by then, or was unbound meanwhile.
func (s *shells) again(p pendingShell, after time.Duration) {
	p.at = time.Now().Add(after)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, newer := s.pending[p.manifest.BridgeID]; !newer && s.bound[p.manifest.BridgeID] {
		s.pending[p.manifest.BridgeID] = p
	}
}

// tell reports and logs why a shell does not have the id that it should have, once.
func (s *shells) tell(bridgeID, problem string) {
	if problem != "" && s.problems[bridgeID] != problem {
		s.log.Warn("the shell of a bridge has its default id", "bridge", bridgeID, "reason", problem)
	}
	s.problems[bridgeID] = problem
	s.report(bridgeID, problem)
}

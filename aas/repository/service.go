package repository

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
)

// Service keeps shells, submodels, concept descriptions and descriptors in a [Store] and publishes
// every change. Safe for concurrent use, and several services may share a store: a write that conflicts
// with another is repeated or refused, never lost.
type Service struct {
	Shells              *Repository[aas.Shell]
	Submodels           *Repository[aas.Submodel]
	Concepts            *Repository[aas.ConceptDescription]
	ShellDescriptors    *Repository[aas.ShellDescriptor]
	SubmodelDescriptors *Repository[aas.SubmodelDescriptor]

	store    Store
	elements ElementStore // nil if the store is none
	opts     Options
	now      func() time.Time
	log      *slog.Logger
	hub      hub
	locks    locks
	bytes    sync.Pool // of *[]byte, for encoding
}

// New makes a service over a store. The caller closes the store after the service.
func New(store Store, o Options) (*Service, error) {
	if store == nil {
		return nil, errors.New("repository: New: the Store is nil")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{store: store, opts: o, now: o.Now, log: o.Logger}
	s.elements, _ = store.(ElementStore)
	s.bytes.New = func() any { return new([]byte) }
	s.locks.init()
	s.Shells = &Repository[aas.Shell]{s, shellForm}
	s.Submodels = &Repository[aas.Submodel]{s, submodelForm}
	s.Concepts = &Repository[aas.ConceptDescription]{s, conceptForm}
	s.ShellDescriptors = &Repository[aas.ShellDescriptor]{s, shellDescriptorForm}
	s.SubmodelDescriptors = &Repository[aas.SubmodelDescriptor]{s, submodelDescriptorForm}
	return s, nil
}

// Close ends the subscriptions. Calls in progress go on: the store may be closed once the callers have stopped. Close
// may be called twice.
func (s *Service) Close(context.Context) error {
	s.hub.end()
	return nil
}

// Verification returns how documents are verified.
func (s *Service) Verification() Verification { return s.opts.Verification }

// VersionOf returns the version that a document is in, 0 when there is none.
func (s *Service) VersionOf(ctx context.Context, kind Kind, id string) (uint64, error) {
	if s.elements != nil {
		d, _, err := s.elements.Element(ctx, kind, id, "")
		return d.Version, err
	}
	list, err := s.store.Get(ctx, kind, id)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[0].Version, nil
}

// badID returns which rule an id breaks, or nothing.
func badID(id string) string {
	switch {
	case id == "":
		return "is required"
	case !utf8.ValidString(id):
		return "is not valid UTF-8"
	case utf8.RuneCountInString(id) > aas.MaxIDLength:
		return "has more than 2048 characters"
	case id == "." || id == "..":
		return "cannot be part of an address"
	case strings.ContainsFunc(id, unicode.IsControl):
		return "has control characters"
	}
	return ""
}

// locks make writers of one document wait for each other: they would only have to try again, and what
// they did is to be told in order. Documents share locks.
type locks struct {
	seed  maphash.Seed
	slots [256]chan struct{}
}

func (l *locks) init() {
	l.seed = maphash.MakeSeed()
	for i := range l.slots {
		l.slots[i] = make(chan struct{}, 1)
	}
}

func (l *locks) slot(kind Kind, id string) int {
	return int((maphash.String(l.seed, id) + uint64(kind)) % uint64(len(l.slots)))
}

func (l *locks) lock(ctx context.Context, kind Kind, id string) (unlock func(), err error) {
	slot := l.slots[l.slot(kind, id)]
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, errCanceled.Wrap(ctx.Err())
	}
}

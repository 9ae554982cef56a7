package tagconfig

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/otkit/otkit/fault"
)

// Bulk adds items and replaces those whose tag is configured already; tags that are not named stay.
// Of two items for one tag the last wins. It returns the number of distinct tags.
//
// Nothing is applied when it fails: with ErrEmpty; with ErrInvalid, which names each bad member as
// [3].driverId; with ErrTooMany; with ErrFull or ErrNotSaved when the file cannot be written, or an error of the Repository. When it returns
// nil, memory, Repository and file have the items and OnChange has been called. Concurrent calls share one write of the file. (Without a
// Repository, should the last step of a write, making the rename durable, fail on a dying disk, the file may have the items all the same; the
// store then follows the file.)
func (s *Store) Bulk(ctx context.Context, items []Config) (int, error) {
	return s.BulkWithin(ctx, items, 0)
}

// BulkWithin is Bulk for callers that may add tags only up to most in the whole configuration, and change the tags that
// are there however many these are. If more tags would be added, it returns ErrTagLimit. A most of 0 is no limit.
func (s *Store) BulkWithin(ctx context.Context, items []Config, most int) (int, error) {
	if len(items) == 0 {
		return 0, ErrEmpty
	}
	r, err := s.Apply(ctx, Edit{Put: items, MaxItems: most})
	return r.Put, err
}

// Apply carries out an edit, all of it or nothing. Its errors are those of Bulk, and those of Check. What changes nothing is not
// stored.
func (s *Store) Apply(ctx context.Context, e Edit) (Result, error) {
	if len(e.Put) > 0 && !e.checked {
		var err error
		if e.Put, err = checked(e.Put); err != nil {
			return Result{}, err
		}
	}
	r := &request{edit: e, done: make(chan struct{})}
	if e.WriteBehind && s.opts.Repository != nil {
		if err := acquire(ctx, s.turn); err != nil {
			return Result{}, err
		}
		defer release(s.turn)
		_ = s.commit(context.WithoutCancel(ctx), []*request{r}, false) // r has it
		return r.result, r.err
	}
	s.enqueue(r)
	if err := acquire(ctx, s.filing); err != nil {
		if s.withdraw(r) {
			return Result{}, err
		}
		<-r.done // another call is carrying it out
		return r.result, r.err
	}
	defer release(s.filing)
	if batch := s.takeQueue(); len(batch) > 0 { // unless another call has carried it out
		s.commitAndWrite(context.WithoutCancel(ctx), batch)
	}
	<-r.done
	return r.result, r.err
}

// request is an edit that waits to be carried out.
type request struct {
	edit    Edit
	done    chan struct{}
	result  Result
	changes Edit // what it has changed
	err     error
}

func (s *Store) enqueue(r *request) {
	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	s.queue = append(s.queue, r)
}

// withdraw takes a request back, and reports whether nobody was carrying it out.
func (s *Store) withdraw(r *request) bool {
	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	at := slices.Index(s.queue, r)
	if at >= 0 {
		s.queue = slices.Delete(s.queue, at, at+1)
	}
	return at >= 0
}

func (s *Store) takeQueue() []*request {
	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	batch := s.queue
	s.queue = nil
	return batch
}

// maxStarts is how often a write is begun that finds the file edited meanwhile.
const maxStarts = 100

// commitAndWrite carries out requests that wait for the file. The caller holds filing.
func (s *Store) commitAndWrite(ctx context.Context, batch []*request) {
	defer finish(batch)
	for range maxStarts {
		if s.opts.Path != "" {
			if err := s.refresh(ctx); err != nil && s.disk.broken == nil && !deleted(err) {
				fail(batch, ErrNotSaved.Wrap(err)) // what cannot be read is not to be overwritten
				return
			}
		}
		if !errors.Is(s.commitInTurn(ctx, batch), errEdited) {
			return
		}
	}
}

func (s *Store) commitInTurn(ctx context.Context, batch []*request) error {
	s.turn <- struct{}{}
	defer release(s.turn)
	return s.commit(ctx, batch, s.opts.Path != "")
}

func fail(batch []*request, err error) {
	for _, r := range batch {
		if r.err == nil {
			r.result, r.err = Result{}, err
		}
	}
}

func finish(batch []*request) {
	for _, r := range batch {
		close(r.done)
	}
}

// commit carries out requests with one transaction and, if write, one replacement of the file; the caller then holds filing. It holds turn.
// The requests have its error.
func (s *Store) commit(ctx context.Context, batch []*request, write bool) error {
	for {
		d := s.state.Load().draft()
		for _, r := range batch {
			s.carryOut(d, r)
		}
		if !d.changed() {
			return nil
		}
		err := s.persist(ctx, d, write)
		if errors.Is(err, ErrRevision) { // another engine was faster
			if err = s.follow(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			if !errors.Is(err, errEdited) {
				s.opts.Logger.Error("tag configuration not saved", "file", s.opts.Path, "error", err)
			}
			fail(batch, err)
			return err
		}
		s.inForce(d, !write)
		for _, r := range slices.Backward(batch) {
			if r.err == nil {
				defer s.opts.OnChange(r.changes) // should one panic, the others are told all the same
			}
		}
		return nil
	}
}

// carryOut applies a request to a draft, all of it or nothing.
func (s *Store) carryOut(d *draft, r *request) {
	r.result, r.changes, r.err = Result{}, Edit{}, nil
	if r.edit.Check != nil {
		if r.err = r.edit.Check(d.get); r.err != nil {
			return
		}
	}
	b := d.branch()
	for _, id := range r.edit.Remove {
		if b.remove(id) != nil {
			r.result.Removed++
		}
	}
	named := make(map[string]struct{}, len(r.edit.Put))
	for i := range r.edit.Put {
		c := &r.edit.Put[i]
		named[c.TagID] = struct{}{}
		if old, _ := b.put(*c); old == nil {
			r.result.Added++
		}
	}
	n := b.items.Len()
	r.result.Put, r.result.Total, r.result.Revision = len(named), n, d.revision
	switch most := r.edit.MaxItems; {
	case n > s.opts.MaxItems && n > d.items.Len():
		r.result, r.err = Result{}, ErrTooMany.Because("at most %d", s.opts.MaxItems)
	case most > 0 && n > most && n > d.items.Len():
		r.result, r.err = Result{}, ErrTagLimit.With("limit", strconv.Itoa(most))
	default:
		if len(b.changes) == 0 && len(d.changes) == 0 {
			r.result.Revision = d.from.revision
		}
		r.changes = b.editOf(r.edit.Put, len(named))
		if r.edit.Report {
			r.result.Changes.Changes, r.result.Changes.Total = b.differences(100)
		}
		d.absorb(b)
	}
}

// inForce makes a draft what readers see. late says that the file does not have it. The caller holds turn.
func (s *Store) inForce(d *draft, late bool) {
	v := d.view
	s.state.Store(&v)
	if !late || s.opts.Path == "" || s.opts.Repository == nil {
		return
	}
	for id, c := range d.changes {
		if c.new == nil {
			s.removed[id] = d.revision
		} else {
			delete(s.removed, id)
		}
	}
	s.signalBehind()
}

func (s *Store) signalBehind() {
	select {
	case s.behind <- struct{}{}:
	default: // there is one
	}
}

// ValidateAll returns the error that a Bulk of the items would return: nil, ErrEmpty or ErrInvalid.
func ValidateAll(items []Config) error {
	if len(items) == 0 {
		return ErrEmpty
	}
	_, err := checked(items)
	return err
}

// checked returns a copy of the items with defaults filled in, or what is wrong with them.
func checked(items []Config) ([]Config, error) {
	items = owned(items)
	var bad faults
	check(items, indexPlace, &bad)
	return items, bad.err(ErrInvalid)
}

// stored returns the error for a Repository that failed.
func stored(err error) error {
	if fault.KindOf(err) == fault.Internal {
		return ErrNotSaved.Wrap(err)
	}
	return err
}

package repository

import (
	"context"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// Storable are the types of document that a [Repository] keeps.
type Storable interface {
	aas.Shell | aas.Submodel | aas.ConceptDescription | aas.ShellDescriptor | aas.SubmodelDescriptor
}

// Repository keeps the documents of one type. Safe for concurrent use. Its errors are those of its
// type, such as ErrShellNotFound and ErrShellExists, ErrInvalidRequest, ErrVersionChanged, and what the store
// gives. An id that no document can have is not found.
//
// Ids are 1 to 2048 characters of valid UTF-8 without control characters, and neither "." nor "..".
type Repository[T Storable] struct {
	s    *Service
	form form[T]
}

// form returns what a repository has to know of its type.
type form[T Storable] struct {
	kind     Kind
	notFound *fault.Error
	exists   *fault.Error
	id       func(*T) string
	// describe fills the facts that a document is found by.
	describe func(v *T, d *Document)
	// files returns the names that may be those of stored files; nil where a type has none.
	files func(*T) []string
}

// edit is what a change wants besides the change of the document.
type edit struct {
	event   EventType    // default Updated
	path    string       // of the event
	files   []StoredFile // to keep, without Key.Kind and Key.ID
	subject aas.Element  // the element at path, all that is to be verified; nil means the document
}

// Get returns a document, with live values filled in.
func (r *Repository[T]) Get(ctx context.Context, id string) (*T, error) {
	d, err := r.Document(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.decode(d)
}

// decode reads what the store has; what cannot be read is no fault of the caller.
func (r *Repository[T]) decode(d Document) (*T, error) {
	v, err := aas.Decode[T](d.JSON)
	if err != nil {
		return nil, damaged(d.ID, err)
	}
	return v, nil
}

func damaged(id string, err error) error {
	return fault.New(fault.Internal, "DOCUMENT_DAMAGED", "a stored document cannot be read").With("id", id).Wrap(err)
}

// damaged logs a document that is skipped.
func (s *Service) damaged(ctx context.Context, id string, err error) {
	s.log.ErrorContext(ctx, "stored document skipped: it cannot be read", "id", id, "error", err)
}

// Document returns a document in its JSON form, with live values filled in.
func (r *Repository[T]) Document(ctx context.Context, id string) (Document, error) {
	list, err := r.Documents(ctx, id)
	if err != nil {
		return Document{}, err
	}
	if len(list) == 0 {
		return Document{}, r.missing(id)
	}
	return list[0], nil
}

func (r *Repository[T]) missing(id string) error {
	return r.form.notFound.On("id", strings.ToValidUTF8(id, "\uFFFD"))
}

// Documents returns those of the documents that are there, in the order of ids, without repeats.
func (r *Repository[T]) Documents(ctx context.Context, ids ...string) ([]Document, error) {
	list, err := r.stored(ctx, ids...)
	if err != nil {
		return nil, err
	}
	return list, r.s.fill(ctx, list)
}

// stored returns documents as the store has them.
func (r *Repository[T]) stored(ctx context.Context, ids ...string) ([]Document, error) {
	for i, id := range ids {
		if badID(id) == "" {
			continue
		}
		good := append([]string(nil), ids[:i]...)
		for _, id := range ids[i+1:] {
			if badID(id) == "" {
				good = append(good, id)
			}
		}
		ids = good
		break
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return r.s.store.Get(ctx, r.form.kind, ids...)
}

// MaxPage is the highest Limit of a query.
const MaxPage = 10_000

// Find returns a page of the documents that match, with live values filled in. The repository sets
// Query.Kind. A Limit that is not 1 to [MaxPage] or a negative Offset is ErrInvalidRequest.
func (r *Repository[T]) Find(ctx context.Context, q Query) (Page, error) {
	q.Kind = r.form.kind
	if q.Limit < 1 || q.Limit > MaxPage {
		return Page{}, invalid("limit", "must be 1 to 10000")
	}
	if q.Offset < 0 {
		return Page{}, invalid("offset", "must not be negative")
	}
	if !findable(&q) {
		return Page{}, nil
	}
	page, err := r.s.store.Find(ctx, q)
	if err != nil {
		return Page{}, err
	}
	return page, r.s.fill(ctx, page.Documents)
}

// findable is false when a query asks for texts that no document has and no store takes.
func findable(q *Query) bool {
	for _, text := range []string{q.After, q.IDShort, q.Contains} {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			return false
		}
	}
	for _, t := range q.Terms {
		if !utf8.ValidString(t.Value) {
			return false
		}
	}
	return q.Linked == nil || utf8.ValidString(q.Linked.Term.Value)
}

// Read decodes a document that was found. One that cannot be read is not ok, with an error in the log.
func (r *Repository[T]) Read(ctx context.Context, d Document) (v *T, ok bool) {
	v, err := r.decode(d)
	if err != nil {
		r.s.damaged(ctx, d.ID, err)
	}
	return v, err == nil
}

// All returns every document that matches, ascending by id, read page by page: what is written
// meanwhile may or may not be among them. Limit is the size of a page, 100 when it is 0; Count is
// ignored. A page has at most 16 MiB unless MaxBytes is set. A stored document that cannot be read is
// skipped with an error in the log. It ends after the first error.
func (r *Repository[T]) All(ctx context.Context, q Query) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if q.Limit == 0 {
			q.Limit = 100
		}
		if q.MaxBytes == 0 {
			q.MaxBytes = 16 << 20
		}
		q.Count, q.WithoutJSON = false, false
		for {
			page, err := r.Find(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, d := range page.Documents {
				if v, ok := r.Read(ctx, d); ok && !yield(v, nil) {
					return
				}
			}
			if !page.More || len(page.Documents) == 0 {
				return
			}
			q.After, q.Offset = page.Documents[len(page.Documents)-1].ID, 0
		}
	}
}

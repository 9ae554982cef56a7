package repository

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// ImportFile is a file that comes with an environment.
type ImportFile struct {
	Name        string // path in the package, without percent-encoding; see [aas.FileNames]
	ContentType string
	Data        []byte
}

// ImportOptions say what an import does.
type ImportOptions struct {
	// Replace takes the place of documents that are there. A file that such a document has stays when
	// the new one names it, also when the import has no file for it; any other is removed. Without
	// Replace a document that is there fails the import.
	Replace bool
	// KeepUnnamed keeps, with Replace, also the files that came with an earlier package and that no
	// element has ever named: for what can carry no files, such as JSON.
	KeepUnnamed bool
	// MaxBytes limits the files together as they are kept, where one that several documents name counts
	// for each of them; default 1 GiB. More are ErrImportTooLarge.
	MaxBytes int64
	// Verification replaces that of the service for this import, unless it is empty.
	Verification Verification
}

func (o ImportOptions) withDefaults() (ImportOptions, error) {
	if o.MaxBytes < 0 {
		return o, aas.ErrInvalidRequest.Because("MaxBytes must be 0 or above")
	}
	switch o.Verification {
	case "", VerifyStrict, VerifyPermissive, VerifyOff:
	default:
		return o, invalid("verification", "must be strict, permissive or off")
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	return o, nil
}

// ImportReport is the result of an import.
type ImportReport struct {
	Created  int
	Replaced int
	Files    int           // stored; one that several documents name counts for each
	Unused   []string      // files that were not stored, since there is neither a shell nor a submodel to keep them with
	Findings []fault.Field // rules that are broken, with VerifyPermissive, and members of the environment that are not stored; the first 1000
}

const maxImportFindings = 1000

// Import keeps the documents of an environment and the files: all of them or, after an error or an end
// of the process, none. A file that no document names is kept with the first shell, or the first submodel
// where there is no shell, so that an export has it again.
func (s *Service) Import(ctx context.Context, env *aas.Environment, files []ImportFile, o ImportOptions) (ImportReport, error) {
	o, err := o.withDefaults()
	if err != nil {
		return ImportReport{}, err
	}
	i := importer{s: s, o: o, files: make(map[string]*ImportFile, len(files)), used: make(map[string]bool)}
	names := make([]string, len(files))
	for n := range files {
		f := &files[n]
		if int64(len(f.Data)) > s.opts.MaxFileBytes {
			return ImportReport{}, ErrFileTooLarge.Because("%s has %d bytes, the limit is %d", f.Name, len(f.Data), s.opts.MaxFileBytes)
		}
		if f.Name == "" || !utf8.ValidString(f.Name) || strings.Contains(f.Name, "\x00") {
			return ImportReport{}, invalid("files", "has a name that is empty, has a zero byte or is not valid UTF-8")
		}
		i.files[f.Name], names[n] = f, f.Name
	}
	i.names = aas.NewFileNames(names)
	i.unknown(env)
	if err = importAll(ctx, &i, shellForm, "assetAdministrationShells", env.Shells); err == nil {
		err = importAll(ctx, &i, submodelForm, "submodels", env.Submodels)
	}
	if err == nil {
		err = importAll(ctx, &i, conceptForm, "conceptDescriptions", env.ConceptDescriptions)
	}
	if err != nil {
		return ImportReport{}, err
	}
	if len(i.fields) > 0 {
		return ImportReport{}, aas.ErrInvalidRequest.Invalid(i.fields...)
	}
	for _, name := range names {
		switch {
		case i.used[name]:
		case i.home == nil:
			i.report.Unused = append(i.report.Unused, name)
		default:
			if err := i.keep(i.home, name); err != nil {
				return ImportReport{}, err
			}
		}
	}
	return i.write(ctx)
}

// importer gathers the batch of an import.
type importer struct {
	s      *Service
	o      ImportOptions
	files  map[string]*ImportFile
	names  aas.FileNames
	used   map[string]bool
	bytes  int64 // of the files as they are kept
	list   []*imported
	home   *imported     // keeps the files that no document names
	fields []fault.Field // why the import is refused
	report ImportReport
}

// unknown reports the members of an environment itself that the metamodel does not have: no document can keep them.
func (i *importer) unknown(env *aas.Environment) {
	for _, name := range aas.UnknownMembers(env.Unknown) {
		f := fault.Field{Field: name, Message: "is not a member of an environment and is not stored"}
		if cmp.Or(i.o.Verification, i.s.opts.Verification) == VerifyStrict {
			i.fields = append(i.fields, f)
		} else {
			i.report.Findings = append(i.report.Findings, f)
		}
	}
}

// imported is one document of an import.
type imported struct {
	change Change
	files  []StoredFile
	gone   []FileKey
	// pinVersion readies the rest for the document that is there now; nil where that does not matter.
	pinVersion func(context.Context) error
}

func importAll[T Storable](ctx context.Context, i *importer, f form[T], member string, list []*T) error {
	seen := make(map[string]bool, len(list))
	for n, v := range list {
		if err := ctx.Err(); err != nil {
			return errCanceled.Wrap(err)
		}
		if len(i.fields) >= maxImportFindings {
			return nil
		}
		at := fmt.Sprintf("%s[%d]", member, n)
		if v == nil {
			i.fields = append(i.fields, fault.Field{Field: at, Message: "must be a document, not nil"})
			continue
		}
		d := Document{Kind: f.kind, ID: f.id(v)}
		rule := badID(d.ID)
		if rule == "" && seen[d.ID] {
			rule = "is a duplicate"
		}
		if rule != "" {
			i.fields = append(i.fields, fault.Field{Field: at + ".id", Message: rule})
			continue
		}
		seen[d.ID] = true
		findings, err := i.s.verifyAs(ctx, cmp.Or(i.o.Verification, i.s.opts.Verification), d.ID, v)
		i.report.Findings = append(i.report.Findings, below(at, findings)...)
		i.report.Findings = i.report.Findings[:min(len(i.report.Findings), maxImportFindings)]
		if err == nil {
			err = encodeInto(ctx, i.s, f, v, &d, nil)
		}
		if refused, ok := fault.From(err); ok && len(refused.Fields) > 0 {
			i.fields = append(i.fields, below(at, refused.Fields)...)
			continue
		} else if err != nil {
			return err
		}
		e := &imported{change: Change{Document: d, Match: Match{Absent: true}, Start: i.s.start()}}
		i.list = append(i.list, e)
		if i.o.Replace {
			e.change.Match = Match{}
		}
		if f.files == nil {
			continue
		}
		if i.home == nil {
			i.home = e
		}
		values := f.files(v)
		if err := i.take(e, values); err != nil {
			return err
		}
		if i.o.Replace {
			e.pinVersion = func(ctx context.Context) error { return pinVersion(ctx, i, f, e, v, values) }
		}
	}
	return nil
}

// below returns findings with the path of the document before theirs.
func below(at string, list []fault.Field) []fault.Field {
	out := make([]fault.Field, len(list))
	for i, f := range list {
		out[i] = fault.Field{Field: at, Message: f.Message}
		if f.Field != "" {
			out[i].Field = at + "." + f.Field
		}
	}
	return out
}

// take adds the files that a document names.
func (i *importer) take(e *imported, values []string) error {
	taken := make(map[string]bool, len(values))
	for _, value := range values {
		name, ok := i.names.Find(value)
		if !ok || taken[name] {
			continue
		}
		taken[name] = true
		if err := i.keep(e, name); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) keep(e *imported, name string) error {
	f, d := i.files[name], &e.change.Document
	i.used[name] = true
	if i.bytes += int64(len(f.Data)); i.bytes > i.o.MaxBytes {
		return ErrImportTooLarge.Because("more than %d bytes, where a file that several documents name counts for each of them", i.o.MaxBytes)
	}
	e.files = append(e.files, StoredFile{Key: FileKey{d.Kind, d.ID, name}, ContentType: f.ContentType, Data: f.Data})
	return nil
}

// pinVersion has a document take the place of the one that is there now, and of no other: what is kept of it,
// and which of its files go, is right for that version alone.
func pinVersion[T Storable](ctx context.Context, i *importer, f form[T], e *imported, v *T, values []string) error {
	r, d := &Repository[T]{i.s, f}, &e.change.Document
	list, err := r.stored(ctx, d.ID)
	if err != nil {
		return err
	}
	e.gone = nil
	if len(list) == 0 {
		e.change.Match = Match{Absent: true}
		return nil
	}
	e.change.Match = Match{Version: list[0].Version}
	if d.Live {
		if err := encodeInto(ctx, i.s, f, v, d, &list[0]); err != nil {
			return err
		}
	}
	names, err := i.s.store.FileNames(ctx, d.Kind, d.ID)
	if err != nil || len(names) == 0 {
		return err
	}
	going := names
	if i.o.KeepUnnamed {
		if before, err := r.decode(list[0]); err == nil {
			going = slices.Sorted(maps.Keys(named(aas.NewFileNames(names), f.files(before))))
		}
	}
	e.gone = e.without(going, names, values)
	return nil
}

// without returns those of some stored files that the import does not bring again and no value means.
func (e *imported) without(going, stored, values []string) []FileKey {
	brought := make([]string, len(e.files))
	for n := range e.files {
		brought[n] = e.files[n].Key.Name
	}
	fresh, old := aas.NewFileNames(brought), aas.NewFileNames(stored)
	stays := make(map[string]bool, len(brought)+len(values))
	for _, name := range brought {
		stays[name] = true
	}
	for _, value := range values {
		if _, ok := fresh.Find(value); ok {
			continue
		}
		if name, ok := old.Find(value); ok {
			stays[name] = true
		}
	}
	var keys []FileKey
	for _, name := range going {
		if !stays[name] {
			keys = append(keys, FileKey{e.change.Document.Kind, e.change.Document.ID, name})
		}
	}
	return keys
}

func pinVersions(ctx context.Context, list []*imported) error {
	for _, e := range list {
		if e.pinVersion == nil {
			continue
		}
		if err := e.pinVersion(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (i *importer) batch() (b Batch) {
	for _, e := range i.list {
		b.Changes = append(b.Changes, e.change)
		b.Files = append(b.Files, e.files...)
		b.Remove = append(b.Remove, e.gone...)
	}
	return b
}

func (i *importer) write(ctx context.Context) (ImportReport, error) {
	if len(i.list) == 0 {
		return i.report, nil
	}
	docs := make([]Document, len(i.list))
	for n, e := range i.list {
		docs[n] = e.change.Document
	}
	unlock, err := i.s.locks.lockAll(ctx, docs)
	if err != nil {
		return ImportReport{}, err
	}
	defer unlock()
	if err := pinVersions(ctx, i.list); err != nil {
		return ImportReport{}, err
	}
	var (
		batch    Batch
		versions []uint64
		stale    []*imported
		width    = 1
	)
	err = i.s.retry(ctx, func() error {
		if err := pinVersions(ctx, stale); err != nil {
			return err
		}
		batch = i.batch()
		var err error
		versions, err = i.s.store.Write(ctx, batch)
		at, ok := mismatched(err)
		if !ok {
			return err
		}
		e := i.list[at]
		if e.pinVersion == nil {
			exists := map[Kind]*fault.Error{KindShell: ErrShellExists, KindSubmodel: ErrSubmodelExists, KindConceptDescription: ErrConceptExists}
			return exists[e.change.Document.Kind].On("id", e.change.Document.ID)
		}
		// While many are met again others change again: few at first, beginning with the first that has changed.
		stale = i.list[at:min(at+width, len(i.list))]
		width = min(2*width, len(i.list))
		return errAgain
	})
	if err != nil {
		return ImportReport{}, err
	}
	i.tell(batch, versions)
	return i.report, nil
}

// tell completes the report and publishes what has happened.
func (i *importer) tell(batch Batch, versions []uint64) {
	i.report.Files = len(batch.Files)
	events := make([]Event, len(versions))
	now := i.s.now()
	for n, version := range versions {
		d := &batch.Changes[n].Document
		events[n] = Event{Type: Updated, Kind: d.Kind, ID: d.ID, Version: version, At: now}
		if version == batch.Changes[n].Start {
			events[n].Type = Created
			i.report.Created++
		}
	}
	i.report.Replaced = len(versions) - i.report.Created
	i.s.hub.publish(events...)
}

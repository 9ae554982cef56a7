package aas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// ImportFile is a file that comes with an environment.
type ImportFile struct {
	Name        string // path in the package, without percent-encoding; see [FileNames]
	ContentType string
	Data        []byte
}

// ImportOptions say what an import does.
type ImportOptions struct {
	// Replace takes the place of documents that are there. A file that such a document named and the
	// new one does not is removed; one that both name stays, also when the import has no file for it.
	// Without Replace a document that is there fails the import.
	Replace bool
}

// ImportReport tells what an import did.
type ImportReport struct {
	Created  int
	Replaced int
	Files    int           // stored; one that several documents name counts for each
	Unused   []string      // files that were not stored, since there is neither a shell nor a submodel to keep them with
	Findings []fault.Field // rules that are broken, with VerifyPermissive; the first 1000
}

const maxImportFindings = 1000

// Import keeps the documents of an environment and the files: all of them or, after an error or an end
// of the process, none. A file that no document names is kept with the first shell, or the first submodel
// where there is no shell, so that an export has it again.
func (s *Service) Import(ctx context.Context, env *Environment, files []ImportFile, o ImportOptions) (ImportReport, error) {
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
	i.names = NewFileNames(names)
	err := errors.Join(
		importAll(ctx, &i, shellForm, "assetAdministrationShells", env.Shells),
		importAll(ctx, &i, submodelForm, "submodels", env.Submodels),
		importAll(ctx, &i, conceptForm, "conceptDescriptions", env.ConceptDescriptions))
	if err != nil {
		return ImportReport{}, err
	}
	if len(i.fields) > 0 {
		return ImportReport{}, ErrInvalidRequest.Invalid(i.fields...)
	}
	for _, name := range names {
		switch {
		case i.used[name]:
		case i.home.ID == "":
			i.report.Unused = append(i.report.Unused, name)
		default:
			i.keep(i.home, name)
		}
	}
	return i.write(ctx)
}

// importer gathers the batch of an import.
type importer struct {
	s      *Service
	o      ImportOptions
	files  map[string]*ImportFile
	names  FileNames
	used   map[string]bool
	home   Document // that keeps the files that no document names
	batch  Batch
	fields []fault.Field // why the import is refused
	report ImportReport
}

func importAll[T Kept](ctx context.Context, i *importer, f form[T], member string, list []*T) error {
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
			rule = "is there twice"
		}
		if rule != "" {
			i.fields = append(i.fields, fault.Field{Field: at + ".id", Message: rule})
			continue
		}
		seen[d.ID] = true
		findings, err := i.s.verify(ctx, d.ID, v)
		i.report.Findings = append(i.report.Findings, below(at, findings)...)
		i.report.Findings = i.report.Findings[:min(len(i.report.Findings), maxImportFindings)]
		if err == nil {
			err = encodeInto(i.s, f, v, &d)
		}
		if refused, ok := fault.From(err); ok && len(refused.Fields) > 0 {
			i.fields = append(i.fields, below(at, refused.Fields)...)
			continue
		} else if err != nil {
			return err
		}
		change := Change{Document: d, Match: Match{Absent: true}, Start: i.s.start()}
		if i.o.Replace {
			change.Match = Match{}
		}
		i.batch.Changes = append(i.batch.Changes, change)
		if f.files == nil {
			continue
		}
		if i.home.ID == "" {
			i.home = d
		}
		before := len(i.batch.Files)
		i.take(d, f.files(v))
		if i.o.Replace {
			if err := orphans(ctx, i, f, d, v, i.batch.Files[before:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// below gives findings with the path of the document before theirs.
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
func (i *importer) take(d Document, values []string) {
	taken := make(map[string]bool, len(values))
	for _, value := range values {
		name, ok := i.names.Find(value)
		if !ok || taken[name] {
			continue
		}
		taken[name] = true
		i.keep(d, name)
	}
}

func (i *importer) keep(d Document, name string) {
	f := i.files[name]
	i.used[name] = true
	i.batch.Files = append(i.batch.Files, StoredFile{Key: FileKey{d.Kind, d.ID, name}, ContentType: f.ContentType, Data: f.Data})
}

// orphans adds the stored files that only the document of before names.
func orphans[T Kept](ctx context.Context, i *importer, f form[T], d Document, v *T, files []StoredFile) error {
	names, err := i.s.store.FileNames(ctx, d.Kind, d.ID)
	if err != nil || len(names) == 0 {
		return err
	}
	r := &Repository[T]{i.s, f}
	list, err := r.stored(ctx, d.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	gone, err := r.orphans(ctx, list[0], v, files)
	i.batch.Remove = append(i.batch.Remove, gone...)
	return err
}

func (i *importer) write(ctx context.Context) (ImportReport, error) {
	if len(i.batch.Changes) == 0 {
		return i.report, nil
	}
	versions, err := i.s.store.Write(ctx, i.batch)
	if err != nil {
		var mismatch *MismatchError
		if errors.As(err, &mismatch) {
			d := i.batch.Changes[mismatch.Index].Document
			exists := map[Kind]*fault.Error{KindShell: ErrShellExists, KindSubmodel: ErrSubmodelExists, KindConceptDescription: ErrConceptExists}
			return ImportReport{}, exists[d.Kind].On("id", d.ID)
		}
		return ImportReport{}, err
	}
	i.report.Files = len(i.batch.Files)
	events := make([]Event, len(versions))
	now := i.s.now()
	for n, version := range versions {
		d := &i.batch.Changes[n].Document
		events[n] = Event{Type: Updated, Kind: d.Kind, ID: d.ID, Version: version, At: now}
		if version == i.batch.Changes[n].Start {
			events[n].Type = Created
			i.report.Created++
		}
	}
	i.report.Replaced = len(versions) - i.report.Created
	i.s.hub.publish(events...)
	return i.report, nil
}

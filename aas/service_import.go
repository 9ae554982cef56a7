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
	Name        string // as elements and thumbnails name it
	ContentType string
	Data        []byte
}

// ImportOptions say what an import does.
type ImportOptions struct {
	// Replace takes the place of documents that are there, with their files. Without it such a
	// document fails the import.
	Replace bool
}

// ImportReport tells what an import did.
type ImportReport struct {
	Created  int
	Replaced int
	Files    int           // stored; one that several documents name counts for each
	Unused   []string      // files that no document names, which are not stored
	Findings []fault.Field // rules that are broken, with VerifyPermissive; the first 1000
}

const maxImportFindings = 1000

// Import keeps the documents of an environment and the files that they name: all of them or, after an
// error or an end of the process, none.
func (s *Service) Import(ctx context.Context, env *Environment, files []ImportFile, o ImportOptions) (ImportReport, error) {
	i := importer{s: s, o: o, files: make(map[string]*ImportFile, len(files)), used: make(map[string]bool)}
	for n := range files {
		f := &files[n]
		if int64(len(f.Data)) > s.opts.MaxFileBytes {
			return ImportReport{}, ErrFileTooLarge.Because("%s has %d bytes, the limit is %d", f.Name, len(f.Data), s.opts.MaxFileBytes)
		}
		if f.Name == "" || !utf8.ValidString(f.Name) || strings.Contains(f.Name, "\x00") {
			return ImportReport{}, invalid("files", "has a name that is empty, has a zero byte or is not valid UTF-8")
		}
		i.files[f.Name] = f
	}
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
	for n := range files {
		if !i.used[files[n].Name] {
			i.report.Unused = append(i.report.Unused, files[n].Name)
		}
	}
	return i.write(ctx)
}

// importer gathers the batch of an import.
type importer struct {
	s      *Service
	o      ImportOptions
	files  map[string]*ImportFile
	used   map[string]bool
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
		change := Change{Document: d, Match: Match{Absent: true}}
		if i.o.Replace {
			change.Match = Match{}
			i.batch.Remove = append(i.batch.Remove, FileKey{Kind: d.Kind, ID: d.ID})
		}
		i.batch.Changes = append(i.batch.Changes, change)
		if f.files != nil {
			i.take(d, f.files(v))
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
func (i *importer) take(d Document, names []string) {
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		f := i.files[name]
		if f == nil || taken[name] {
			continue
		}
		taken[name], i.used[name] = true, true
		i.batch.Files = append(i.batch.Files, StoredFile{Key: FileKey{d.Kind, d.ID, name}, ContentType: f.ContentType, Data: f.Data})
	}
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
		if version == 1 {
			events[n].Type = Created
			i.report.Created++
		}
	}
	i.report.Replaced = len(versions) - i.report.Created
	i.s.hub.publish(events...)
	return i.report, nil
}

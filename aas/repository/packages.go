package repository

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// Package is what a [Service] knows of an AASX package that it keeps as it was sent, apart from the
// repositories.
type Package struct {
	ID       string   `json:"packageId"` // 1 to 128 characters, else as that of a document
	ShellIDs []string `json:"aasIds"`    // of the shells in it, as the sender says
	FileName string   `json:"fileName"`
	Version  uint64   `json:"-"` // as that of a document; set by the service
}

const (
	maxPackageID = 128
	packageFile  = "/package.aasx" // the name of its file in the store
)

// PackageMediaType is the media type of an AASX package.
const PackageMediaType = "application/asset-administration-shell-package"

func (s *Service) packages() *Repository[aas.Shell] {
	return &Repository[aas.Shell]{s, form[aas.Shell]{kind: KindPackage, notFound: ErrPackageNotFound, exists: ErrPackageExists}}
}

// Packages returns a page of packages, ascending by id: those above the id after, at most limit, and when
// shellID is not empty only those with that shell. A page may end early, above 16 MiB of ids. A limit that is not 1 to [MaxPage] is ErrInvalidRequest.
func (s *Service) Packages(ctx context.Context, shellID, after string, limit int) (list []Package, more bool, err error) {
	q := Query{After: after, Limit: limit, MaxBytes: 16 << 20}
	if shellID != "" {
		q.Terms = []Term{{termShell, shellID}}
	}
	page, err := s.packages().Find(ctx, q)
	if err != nil {
		return nil, false, err
	}
	for _, d := range page.Documents {
		p, err := readPackage(d)
		if err != nil {
			s.damaged(ctx, d.ID, err)
		}
		list = append(list, p)
	}
	return list, page.More, nil
}

func readPackage(d Document) (Package, error) {
	p := Package{ID: d.ID, Version: d.Version}
	if err := json.Unmarshal(d.JSON, &p); err != nil {
		return p, fault.New(fault.Internal, "DOCUMENT_DAMAGED", "a stored package cannot be read").With("id", d.ID).Wrap(err)
	}
	return p, nil
}

// Package returns a package, or ErrPackageNotFound.
func (s *Service) Package(ctx context.Context, id string) (Package, error) {
	d, err := s.packages().Document(ctx, id)
	if err != nil {
		return Package{}, err
	}
	return readPackage(d)
}

// PackageData returns a package and its file, not to be changed, or ErrPackageNotFound. Both are of the same
// version: when another comes while they are read, they are read again.
func (s *Service) PackageData(ctx context.Context, id string) (p Package, data []byte, err error) {
	err = s.retry(ctx, func() error {
		if p, err = s.Package(ctx, id); err != nil {
			return err
		}
		f, missing := s.store.File(ctx, FileKey{KindPackage, id, packageFile})
		if missing != nil && !errors.Is(missing, ErrFileNotFound) {
			return missing
		}
		switch version, err := s.VersionOf(ctx, KindPackage, id); {
		case err != nil:
			return err
		case version != p.Version:
			return errAgain
		case missing != nil:
			return ErrPackageNotFound.On("id", id).Wrap(missing)
		}
		data = f.Data
		return nil
	})
	return p, data, err
}

// PutPackage keeps a package, new or in place of the one with its id, and returns its version. Match may ask
// for one of the two, or for a version. The data is kept as it is, whatever it holds; ErrFileTooLarge when
// it is above [Options].MaxFileBytes.
func (s *Service) PutPackage(ctx context.Context, p Package, data []byte, m Match) (version uint64, created bool, err error) {
	d, err := s.encodePackage(p)
	if err != nil {
		return 0, false, err
	}
	if int64(len(data)) > s.opts.MaxFileBytes {
		return 0, false, ErrFileTooLarge.Because("it has %d bytes, the limit is %d", len(data), s.opts.MaxFileBytes)
	}
	unlock, err := s.locks.lock(ctx, d.Kind, d.ID)
	if err != nil {
		return 0, false, err
	}
	defer unlock()
	r := s.packages()
	file := StoredFile{Key: FileKey{KindPackage, d.ID, packageFile}, ContentType: PackageMediaType, Data: data}
	err = s.retry(ctx, func() error {
		list, err := r.stored(ctx, d.ID)
		if err != nil {
			return err
		}
		change, event := Change{Document: d, Match: Match{Absent: true}}, Event{Type: Created}
		if created = len(list) == 0; created {
			if m.Exists || m.Version != 0 {
				return r.missing(d.ID)
			}
		} else {
			if err := r.admit(list[0], m); err != nil {
				return err
			}
			change.Match, event.Type = Match{Version: list[0].Version}, Updated
		}
		written, err := r.write(ctx, Batch{Changes: []Change{change}, Files: []StoredFile{file}}, event)
		version = written.Version
		return again(err, m)
	})
	if err != nil {
		return 0, false, err
	}
	return version, created, nil
}

func (s *Service) encodePackage(p Package) (Document, error) {
	d := Document{Kind: KindPackage, ID: p.ID}
	if rule := badID(p.ID); rule != "" {
		return d, invalid("packageId", rule)
	}
	if utf8.RuneCountInString(p.ID) > maxPackageID {
		return d, invalid("packageId", "has more than 128 characters")
	}
	if p.ShellIDs == nil {
		p.ShellIDs = []string{} // never null
	}
	t := newTerms(len(p.ShellIDs))
	for i, id := range p.ShellIDs {
		if rule := badID(id); rule != "" {
			return d, invalid("aasIds["+strconv.Itoa(i)+"]", rule)
		}
		t.add(termShell, id)
	}
	d.Terms = t.list
	var err error
	if d.JSON, err = json.Marshal(p); err != nil {
		return d, err
	}
	return d, checkFacts(&d)
}

// DeletePackage removes a package, or returns ErrPackageNotFound, and ErrVersionChanged when it is not what Match
// wants.
func (s *Service) DeletePackage(ctx context.Context, id string, m Match) error {
	return s.packages().Delete(ctx, id, m)
}

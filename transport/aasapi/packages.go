package aasapi

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/problem"
)

// packageDescription is that of the standard.
type packageDescription struct {
	ID       string   `json:"packageId"`
	ShellIDs []string `json:"aasIds"`
}

func appendPackage(dst []byte, p repository.Package) ([]byte, error) {
	d := packageDescription{p.ID, append([]string{}, p.ShellIDs...)} // never null
	data, err := json.Marshal(d)
	return append(dst, data...), err
}

func listPackages(c *call) error {
	const list = "packages"
	shellID := ""
	if given := c.query.Get("aasId"); given != "" {
		var err error
		if shellID, err = decodeID("aasId", given); err != nil {
			return err
		}
	}
	limit, err := c.limit()
	if err != nil {
		return err
	}
	after, err := c.cursor(list)
	if err != nil {
		return err
	}
	packages, more, err := c.service.Packages(c.ctx(), shellID, after, limit)
	if err != nil {
		return err
	}
	next := ""
	if more && len(packages) > 0 {
		next = encodeCursor(list, packages[len(packages)-1].ID)
	}
	l := newList(256*len(packages)+64, next)
	for _, p := range packages {
		l.separate()
		if l.buf, err = appendPackage(l.buf, p); err != nil {
			return err
		}
	}
	return c.json(http.StatusOK, l.end())
}

// packageSent reads the form with a package. It is kept as it is; that it is an archive is asked so that a
// form with another file is noticed.
func (c *call) packageSent(id string) (repository.Package, []byte, error) {
	u, err := c.uploaded()
	if err != nil {
		return repository.Package{}, nil, err
	}
	if _, err := zip.NewReader(bytes.NewReader(u.data), int64(len(u.data))); err != nil {
		return repository.Package{}, nil, invalid("file", "is no AASX package")
	}
	if u.name == "" {
		u.name = "package.aasx"
	}
	return repository.Package{ID: id, ShellIDs: u.shellIDs, FileName: u.name}, u.data, nil
}

func postPackage(c *call) error {
	p, data, err := c.packageSent(problem.NewTraceID())
	if err != nil {
		return err
	}
	version, _, err := c.service.PutPackage(c.ctx(), p, data, repository.Match{Absent: true})
	if err != nil {
		return err
	}
	return c.createdPackage(c.below(encodeID(p.ID)), p, version)
}

func (c *call) createdPackage(location string, p repository.Package, version uint64) error {
	body, err := appendPackage(nil, p)
	if err != nil {
		return err
	}
	c.tag(version)
	return c.created(location, body)
}

func putPackage(c *call) error {
	id, err := c.id("packageId")
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	p, data, err := c.packageSent(id)
	if err != nil {
		return err
	}
	version, created, err := c.service.PutPackage(c.ctx(), p, data, match)
	if err != nil {
		return unmatched(err, match)
	}
	if created {
		return c.createdPackage(c.urlPath(), p, version)
	}
	c.tag(version)
	return c.noContent()
}

func getPackage(c *call) error {
	id, err := c.id("packageId")
	if err != nil {
		return err
	}
	p, err := c.service.Package(c.ctx(), id)
	if err != nil || c.unchanged(repository.Document{Version: p.Version}) {
		return err
	}
	p, data, err := c.service.PackageData(c.ctx(), id)
	if err != nil {
		c.w.Header().Del("ETag")
		return err
	}
	c.tag(p.Version)
	c.w.Header().Set("X-FileName", headerText(p.FileName))
	return c.file(repository.StoredFile{Key: repository.FileKey{Name: p.FileName}, ContentType: repository.PackageMediaType, Data: data})
}

// headerText returns a text as it can stand in a header: percent-encoded when it is not plain ASCII.
func headerText(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return url.PathEscape(text)
	}
	return text
}

func deletePackage(c *call) error {
	id, err := c.id("packageId")
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	if err := c.service.DeletePackage(c.ctx(), id, match); err != nil {
		return err
	}
	return c.noContent()
}

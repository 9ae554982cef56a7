package aasv1

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi/internal/ifmatch"
	v1 "github.com/otkit/otkit/transport/aasapi/internal/v1"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// The answers below write what is kept as it is kept: documents are stored in the form that goes out.

// aasDocument is one document as an answer.
type aasDocument struct {
	status   int
	doc      repository.Document
	location string // empty for none
	known    string // the header If-None-Match of a request that reads
}

func (a aasDocument) write(w http.ResponseWriter) error {
	if a.location != "" {
		w.Header().Set("Location", a.location)
	}
	w.Header().Set("ETag", ifmatch.Tag(a.doc.Version))
	if has(a.known, &a.doc) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return restapi.WriteJSON(w, a.status, v1.AppendDocument(make([]byte, 0, len(a.doc.JSON)+20), &a.doc))
}

// VisitCreateShellResponse implements gen.CreateShellResponseObject.
func (a aasDocument) VisitCreateShellResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitGetShellResponse implements gen.GetShellResponseObject.
func (a aasDocument) VisitGetShellResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitUpdateShellResponse implements gen.UpdateShellResponseObject.
func (a aasDocument) VisitUpdateShellResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitCreateSubmodelResponse implements gen.CreateSubmodelResponseObject.
func (a aasDocument) VisitCreateSubmodelResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitGetSubmodelResponse implements gen.GetSubmodelResponseObject.
func (a aasDocument) VisitGetSubmodelResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitUpdateSubmodelResponse implements gen.UpdateSubmodelResponseObject.
func (a aasDocument) VisitUpdateSubmodelResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitCreateConceptDescriptionResponse implements gen.CreateConceptDescriptionResponseObject.
func (a aasDocument) VisitCreateConceptDescriptionResponse(w http.ResponseWriter) error {
	return a.write(w)
}

// VisitGetConceptDescriptionResponse implements gen.GetConceptDescriptionResponseObject.
func (a aasDocument) VisitGetConceptDescriptionResponse(w http.ResponseWriter) error {
	return a.write(w)
}

// VisitUpdateConceptDescriptionResponse implements gen.UpdateConceptDescriptionResponseObject.
func (a aasDocument) VisitUpdateConceptDescriptionResponse(w http.ResponseWriter) error {
	return a.write(w)
}

// listForm selects the members of a list besides its items.
type listForm uint8

const (
	itemsOnly listForm = iota
	counted            // and totalCount
	paged              // and page and pageSize
)

// aasList is documents as an answer.
type aasList struct {
	docs              []repository.Document
	total, page, size int
	form              listForm
}

func (l aasList) write(w http.ResponseWriter) error {
	length := 100
	for i := range l.docs {
		length += len(l.docs[i].JSON) + 20
	}
	body := append(make([]byte, 0, length), `{"items":[`...)
	for i := range l.docs {
		if i > 0 {
			body = append(body, ',')
		}
		body = v1.AppendItem(body, &l.docs[i])
	}
	body = append(body, ']')
	if l.form >= counted {
		body = strconv.AppendInt(append(body, `,"totalCount":`...), int64(l.total), 10)
	}
	if l.form == paged {
		body = strconv.AppendInt(append(body, `,"page":`...), int64(l.page), 10)
		body = strconv.AppendInt(append(body, `,"pageSize":`...), int64(l.size), 10)
	}
	return restapi.WriteJSON(w, http.StatusOK, append(body, '}'))
}

// VisitListShellsResponse implements gen.ListShellsResponseObject.
func (l aasList) VisitListShellsResponse(w http.ResponseWriter) error { return l.write(w) }

// VisitFindShellsByAssetResponse implements gen.FindShellsByAssetResponseObject.
func (l aasList) VisitFindShellsByAssetResponse(w http.ResponseWriter) error { return l.write(w) }

// VisitSearchShellsResponse implements gen.SearchShellsResponseObject.
func (l aasList) VisitSearchShellsResponse(w http.ResponseWriter) error { return l.write(w) }

// VisitListSubmodelsResponse implements gen.ListSubmodelsResponseObject.
func (l aasList) VisitListSubmodelsResponse(w http.ResponseWriter) error { return l.write(w) }

// VisitListConceptDescriptionsResponse implements gen.ListConceptDescriptionsResponseObject.
func (l aasList) VisitListConceptDescriptionsResponse(w http.ResponseWriter) error { return l.write(w) }

// shellSubmodels is the submodels of a shell as an answer. Those that providers add have a form of
// their own, and so modelType stays with the others.
type shellSubmodels []repository.ShellSubmodel

// VisitListShellSubmodelsResponse implements gen.ListShellSubmodelsResponseObject.
func (l shellSubmodels) VisitListShellSubmodelsResponse(w http.ResponseWriter) error {
	body := []byte(`{"items":[`)
	for i := range l {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, l[i].Document.JSON...)
	}
	return restapi.WriteJSON(w, http.StatusOK, append(body, "]}"...))
}

// elementValue is the value of an element as an answer.
type elementValue struct {
	version uint64
	body    []byte
}

// VisitGetElementValueResponse implements gen.GetElementValueResponseObject.
func (v elementValue) VisitGetElementValueResponse(w http.ResponseWriter) error {
	w.Header().Set("ETag", ifmatch.Tag(v.version))
	return restapi.WriteJSON(w, http.StatusOK, v.body)
}

// elementValueSet is the version of a submodel after a value of it was set.
type elementValueSet uint64

// VisitSetElementValueResponse implements gen.SetElementValueResponseObject.
func (v elementValueSet) VisitSetElementValueResponse(w http.ResponseWriter) error {
	w.Header().Set("ETag", ifmatch.Tag(uint64(v)))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// has reports whether a caller has a document already by its header If-None-Match. Live values change
// without the version.
func has(known string, d *repository.Document) bool {
	if known == "" || d.Live {
		return false
	}
	for one := range strings.SplitSeq(known, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == ifmatch.Tag(d.Version) {
			return true
		}
	}
	return false
}

// ifMatch reads the header If-Match of a write to a document.
func (a *handlers) ifMatch(ctx context.Context, header string, kind repository.Kind, id string) (repository.Match, error) {
	return ifmatch.Parse([]string{header}, func() (uint64, error) { return a.service.VersionOf(ctx, kind, id) })
}

// segment encodes an id as one segment of a path. A plus sign is encoded too, since some clients read
// it as a blank.
func segment(id string) string { return strings.ReplaceAll(url.PathEscape(id), "+", "%2B") }

package derivedapi

import (
	"github.com/otkit/otkit/transport/internal/restapi"
	"net/http"
	"net/url"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
)

// derivedTag is the schema DerivedTag.
type derivedTag struct {
	derived.Definition
	DataType     tags.DataType   `json:"dataType,omitempty"`
	AccessMode   tags.AccessMode `json:"accessMode"`
	Inputs       []string        `json:"inputs"`
	CurrentValue tags.Value      `json:"currentValue"`
	Quality      string          `json:"quality"`
	Reason       string          `json:"qualityReason,omitempty"`
	LastUpdated  time.Time       `json:"lastUpdated,omitzero"`
	Message      string          `json:"message,omitempty"`
	Owner        string          `json:"owner,omitempty"`
	CreatedAt    time.Time       `json:"createdAt,omitzero"`
	UpdatedAt    time.Time       `json:"updatedAt,omitzero"`
}

func (a *API) encode(d derived.Stored) derivedTag {
	found := derivedTag{Definition: d.Definition, DataType: d.Kind, AccessMode: d.Access, Inputs: d.Inputs, Quality: tags.Bad.String(), Reason: tags.ReasonWaiting.String(),
		Message: d.Message, Owner: d.Owner, CreatedAt: d.CreatedAt.UTC(), UpdatedAt: d.UpdatedAt.UTC()}
	if s, ok := a.opts.Current(d.ID); ok {
		found.CurrentValue, found.Quality, found.Reason, found.LastUpdated = s.Sample.Value, s.Sample.Quality.String(), s.Sample.Reason.String(), s.Sample.SourceTime.UTC()
	}
	return found
}

func (a *API) list(w http.ResponseWriter, r *http.Request) (err error) {
	q := derived.ListQuery{Input: r.URL.Query().Get("input")}
	if q.Page, err = number(r, "page"); err != nil {
		return err
	}
	if q.PageSize, err = number(r, "pageSize"); err != nil {
		return err
	}
	page, err := a.service.List(q)
	if err != nil {
		return err
	}
	list := make([]derivedTag, len(page.Items))
	for i := range page.Items {
		list[i] = a.encode(page.Items[i])
	}
	return write(w, http.StatusOK, struct {
		DerivedTags []derivedTag `json:"derivedTags"`
		TotalCount  int          `json:"totalCount"`
	}{list, page.Total}, 0)
}

func (a *API) get(w http.ResponseWriter, r *http.Request) error {
	d, err := a.service.Get(restapi.PathParam(r, "id"))
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, a.encode(d), d.Revision)
}

func (a *API) add(w http.ResponseWriter, r *http.Request) error {
	var d derived.Definition
	if err := restapi.DecodeAs(r, &d, derivedTag{}); err != nil {
		return err
	}
	allowMissing, err := flag(r, "allowMissing")
	if err != nil {
		return err
	}
	stored, err := a.service.Create(r.Context(), d, allowMissing)
	if err != nil {
		return err
	}
	w.Header().Set("Location", derivedTags+"/"+url.PathEscape(stored.ID))
	return write(w, http.StatusCreated, a.encode(stored), stored.Revision)
}

func (a *API) replace(w http.ResponseWriter, r *http.Request) error {
	var d derived.Definition
	if err := restapi.DecodeAs(r, &d, derivedTag{}); err != nil {
		return err
	}
	id := restapi.PathParam(r, "id")
	if err := sameID(id, d.ID, derived.ErrInvalid); err != nil {
		return err
	}
	d.ID = id
	allowMissing, err := flag(r, "allowMissing")
	if err != nil {
		return err
	}
	stored, err := a.service.Replace(r.Context(), d, allowMissing, ifMatch(r))
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, a.encode(stored), stored.Revision)
}

func (a *API) remove(w http.ResponseWriter, r *http.Request) error {
	id := restapi.PathParam(r, "id")
	force, err := flag(r, "force")
	if err != nil {
		return err
	}
	if !a.service.Has(id) {
		return derived.ErrNotFound.On("id", id)
	}
	if !force {
		if err := a.mustBeUnused(r.Context(), id); err != nil {
			return err
		}
	}
	if err := a.service.Delete(r.Context(), id, ifMatch(r)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) try(w http.ResponseWriter, r *http.Request) error {
	var d derived.Definition
	if err := restapi.DecodeAs(r, &d, derivedTag{}); err != nil {
		return err
	}
	result, err := a.service.Try(d)
	if err != nil {
		return err
	}
	s := result.Sample
	return write(w, http.StatusOK, struct {
		DataType tags.DataType `json:"dataType"`
		Inputs   []string      `json:"inputs"`
		Value    tags.Value    `json:"value"`
		Quality  string        `json:"quality"`
		Reason   string        `json:"qualityReason,omitempty"`
		Time     time.Time     `json:"timestamp,omitzero"`
		Message  string        `json:"message,omitempty"`
	}{result.Kind, result.Inputs, s.Value, s.Quality.String(), s.Reason.String(), s.SourceTime.UTC(), result.Message}, 0)
}

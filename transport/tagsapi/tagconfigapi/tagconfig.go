package tagconfigapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

// bulk adds and replaces items within what the caller may.
func (a *API) bulk(ctx context.Context, items []tagconfig.Config) (int, error) {
	most := 0
	if a.opts.MaxTags != nil {
		most = a.opts.MaxTags(ctx)
	}
	count, err := a.store.BulkWithin(ctx, items, most)
	if errors.Is(err, tagconfig.ErrTagLimit) {
		if a.opts.OnMaxTags != nil {
			a.opts.OnMaxTags(ctx)
		}
		err = tagconfig.ErrTagLimit.Because("without a token at most %d (Tags__MaxWithoutToken)", most)
	}
	return count, err
}

// get serves GET /api/v1.0/config/tags.
func (a *API) get(w http.ResponseWriter, r *http.Request) {
	items := a.store.Effective()
	if items == nil {
		items = []tagconfig.Config{}
	}
	answer(w, r, items)
}

// change serves POST /api/v1.0/config/tags/bulk.
func (a *API) change(w http.ResponseWriter, r *http.Request) {
	var items tagconfig.Items
	if err := json.NewDecoder(r.Body).Decode(&items); err != nil && !errors.Is(err, io.EOF) {
		restapi.DecodeError(w, r, err)
		return
	}
	count, err := a.bulk(r.Context(), items)
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	answer(w, r, struct {
		Count   int    `json:"count"`
		Message string `json:"message"`
	}{count, fmt.Sprintf("%d tags updated", count)})
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	_ = restapi.WriteJSON(w, http.StatusOK, body) // the client may have gone
}

// export serves GET /api/v1.0/config/tags/export.
func (a *API) export(w http.ResponseWriter, r *http.Request) {
	format := tagconfig.CSV
	if word := r.URL.Query().Get("format"); word != "" {
		var err error
		if format, err = tagconfig.ParseFormat(word); err != nil {
			restapi.Error(w, r, problem.ErrInvalidRequest.Invalid(fault.Field{Field: "format", Message: "must be csv, xlsx or json"}))
			return
		}
	}
	var file bytes.Buffer // whole before the status line, so that a failure is a failure
	if err := tagconfig.Export(&file, format, a.store.List()); err != nil {
		restapi.Error(w, r, err)
		return
	}
	w.Header().Set("Content-Type", format.ContentType())
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "tags." + string(format)}))
	w.Header().Set("Content-Length", strconv.Itoa(file.Len()))
	_, _ = file.WriteTo(w) // the client may have gone
}

// importAnswer is the schema ImportAnswer of the OpenAPI document.
type importAnswer struct {
	DryRun bool `json:"dryRun"`
	Count  int  `json:"count"`
	tagconfig.Differences
}

// load serves POST /api/v1.0/config/tags/import.
func (a *API) load(w http.ResponseWriter, r *http.Request) {
	result, err := a.read(r)
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	answer(w, r, result)
}

func (a *API) read(r *http.Request) (importAnswer, error) {
	dryRun := false
	if word := r.URL.Query().Get("dryRun"); word != "" {
		var err error
		if dryRun, err = strconv.ParseBool(word); err != nil {
			return importAnswer{}, problem.ErrInvalidRequest.Invalid(fault.Field{Field: "dryRun", Message: "must be true or false"})
		}
	}
	format := tagconfig.JSON
	if media := r.Header.Get("Content-Type"); media != "" {
		var err error
		if format, err = tagconfig.ParseContentType(media); err != nil {
			return importAnswer{}, problem.ErrMediaType
		}
	}
	items, err := tagconfig.Import(r.Body, format)
	var tooLarge *http.MaxBytesError // a fault of tagconfig is around it
	switch {
	case errors.As(err, &tooLarge):
		return importAnswer{}, problem.FromDecode(tooLarge)
	case err != nil:
		return importAnswer{}, problem.FromDecode(err)
	}
	d := tagconfig.Diff(a.store.List(), items)
	answer := importAnswer{DryRun: dryRun, Count: len(d.Added) + len(d.Changed), Differences: d}
	if dryRun {
		return answer, tagconfig.ValidateAll(items)
	}
	_, err = a.bulk(r.Context(), items)
	return answer, err
}

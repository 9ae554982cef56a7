package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/openapi/tagconfigapi"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/problem"
)

// TagConfig serves the tag configuration surface.
type TagConfig struct {
	Store *tagconfig.Store
}

var _ tagconfigapi.StrictServerInterface = (*TagConfig)(nil)

// GetTagConfig implements GET /api/v1.0/config/tags.
func (c *TagConfig) GetTagConfig(context.Context, tagconfigapi.GetTagConfigRequestObject) (tagconfigapi.GetTagConfigResponseObject, error) {
	items := c.Store.List()
	if items == nil {
		items = []tagconfig.Config{}
	}
	return tagconfigapi.GetTagConfig200JSONResponse(items), nil
}

// BulkTagConfig implements POST /api/v1.0/config/tags/bulk.
func (c *TagConfig) BulkTagConfig(ctx context.Context, r tagconfigapi.BulkTagConfigRequestObject) (tagconfigapi.BulkTagConfigResponseObject, error) {
	var items []tagconfig.Config
	if r.Body != nil {
		items = *r.Body
	}
	count, err := c.Store.Bulk(ctx, items)
	if err != nil {
		return nil, err
	}
	return tagconfigapi.BulkTagConfig200JSONResponse{Count: count, Message: fmt.Sprintf("%d tags updated", count)}, nil
}

// Export implements GET /api/v1.0/config/tags/export.
func (c *TagConfig) Export(w http.ResponseWriter, r *http.Request) {
	format := tagconfig.CSV
	if word := r.URL.Query().Get("format"); word != "" {
		var err error
		if format, err = tagconfig.ParseFormat(word); err != nil {
			problem.Write(w, r, problem.ErrInvalidRequest.Invalid(fault.Field{Field: "format", Message: "must be csv, xlsx or json"}), problem.Problem)
			return
		}
	}
	var file bytes.Buffer // whole before the status line, so that a failure is a failure
	if err := tagconfig.Export(&file, format, c.Store.List()); err != nil {
		problem.Write(w, r, err, problem.Problem)
		return
	}
	w.Header().Set("Content-Type", format.ContentType())
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "tags." + string(format)}))
	w.Header().Set("Content-Length", strconv.Itoa(file.Len()))
	_, _ = file.WriteTo(w) // a client that has gone is nobody to tell
}

// importAnswer is the schema ImportAnswer of the OpenAPI document.
type importAnswer struct {
	DryRun bool `json:"dryRun"`
	Count  int  `json:"count"`
	tagconfig.Differences
}

// Import implements POST /api/v1.0/config/tags/import.
func (c *TagConfig) Import(w http.ResponseWriter, r *http.Request) {
	answer, err := c.load(r)
	if err != nil {
		problem.Write(w, r, err, problem.Problem)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a client that has gone is nobody to tell
}

func (c *TagConfig) load(r *http.Request) (importAnswer, error) {
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
	d := tagconfig.Diff(c.Store.List(), items)
	answer := importAnswer{DryRun: dryRun, Count: len(d.Added) + len(d.Changed), Differences: d}
	if dryRun {
		return answer, tagconfig.ValidateAll(items)
	}
	_, err = c.Store.Bulk(r.Context(), items)
	return answer, err
}

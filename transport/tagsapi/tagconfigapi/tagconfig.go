package tagconfigapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// bulk adds and replaces items within what the caller may.
func (a *API) bulk(ctx context.Context, items []tagconfig.Config) (int, error) {
	count, err := a.store.BulkWithin(ctx, items, a.maxTags(ctx))
	return count, a.limited(ctx, err)
}

// maxTags returns how many tags the configuration may have for the caller to add one, 0 for no limit.
func (a *API) maxTags(ctx context.Context) int {
	if a.opts.MaxTags == nil {
		return 0
	}
	return a.opts.MaxTags(ctx)
}

// limited returns the error of an edit, and reports the refusal of one beyond what the caller may.
func (a *API) limited(ctx context.Context, err error) error {
	if !errors.Is(err, tagconfig.ErrTagLimit) {
		return err
	}
	if a.opts.OnMaxTags != nil {
		a.opts.OnMaxTags(ctx)
	}
	return tagconfig.ErrTagLimit.Because("without a token at most %d (Tags__MaxWithoutToken)", a.maxTags(ctx))
}

// change serves POST /api/v1.0/config/tags/bulk.
func (a *API) change(w http.ResponseWriter, r *http.Request) {
	var raw json.RawMessage
	var items tagconfig.Items
	err := json.NewDecoder(r.Body).Decode(&raw)
	if err == nil {
		err = json.Unmarshal(raw, &items)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		restapi.DecodeError(w, r, err)
		return
	}
	count, err := a.bulk(r.Context(), items)
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	var found warnings
	found.bulk(raw)
	for i := range items {
		found.refused(&items[i], a.opts.Refused)
	}
	answer(w, r, struct {
		Count   int    `json:"count"`
		Message string `json:"message"`
		warnings
	}{count, fmt.Sprintf("%d tags updated", count), found})
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, r *http.Request, v any) { answerWith(w, r, http.StatusOK, v) }

func answerWith(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	_ = restapi.WriteJSON(w, status, body) // the client may have gone
}

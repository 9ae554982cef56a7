package tagconfigapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

var errChanged = fault.New(fault.Conflict, "VERSION_CHANGED", "the tag configuration has been changed meanwhile")

// tagID returns the id in the path, decoded once.
func tagID(r *http.Request) (string, error) {
	id := chi.URLParam(r, "tagId")
	if r.URL.RawPath == "" {
		return id, nil
	}
	plain, err := url.PathUnescape(id)
	if err != nil {
		return "", tagconfig.ErrNotFound.With("tagName", id)
	}
	return plain, nil
}

// answerItem answers with an item and warnings about it, which the entity tag does not count.
func answerItem(w http.ResponseWriter, r *http.Request, status int, c tagconfig.Config, found warnings) {
	body, tag, err := restapi.ContentETag(c)
	if err == nil && found.Count > 0 {
		var more []byte
		more, err = json.Marshal(found)
		body = append(append(body[:len(body)-1], ','), more[1:]...)
	}
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	w.Header().Set("ETag", tag)
	_ = restapi.WriteJSON(w, status, body) // the client may have gone
}

// getItem serves GET /api/v1.0/config/tags/{tagId}.
func (a *API) getItem(w http.ResponseWriter, r *http.Request) {
	id, err := tagID(r)
	if err == nil {
		var c tagconfig.Config
		if c, err = a.store.Get(id); err == nil {
			answerItem(w, r, http.StatusOK, c, warnings{})
			return
		}
	}
	restapi.Error(w, r, err)
}

// putItem serves PUT /api/v1.0/config/tags/{tagId}.
func (a *API) putItem(w http.ResponseWriter, r *http.Request) {
	id, err := tagID(r)
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	var c tagconfig.Config
	if err := restapi.DecodeStrict(r, &c, "warnings", "warningCount"); err != nil { // those of an answer that is edited and sent back
		restapi.Error(w, r, err)
		return
	}
	switch c.TagID {
	case id:
	case "":
		c.TagID = id
	default:
		restapi.Error(w, r, problem.ErrInvalidRequest.Invalid(fault.Field{Field: "tagId", Message: "must be the one in the path"}))
		return
	}
	if err := c.Validate(); err != nil {
		restapi.Error(w, r, err)
		return
	}
	result, err := a.store.Apply(r.Context(), tagconfig.Edit{Put: []tagconfig.Config{c}, WriteBehind: true, Report: true, Check: a.matches(r, id)})
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	if done := result.Changes.Changes; len(done) > 0 {
		c = *done[0].New // not what another call may have made of it meanwhile, whose ETag would let this caller overwrite that
	} else if c, err = a.store.Get(id); err != nil { // it was so before, and has been removed meanwhile
		restapi.Error(w, r, err)
		return
	}
	status := http.StatusOK
	if result.Added > 0 {
		status = http.StatusCreated
	}
	var found warnings
	found.refused(&c, a.opts.Refused)
	answerItem(w, r, status, c, found)
}

// matches returns the check of the header If-Match; nil if there is none.
func (a *API) matches(r *http.Request, id string) func(func(string) (tagconfig.Config, bool)) error {
	matches := restapi.Precondition(r.Header.Values("If-Match"), errChanged)
	if matches == nil {
		return nil
	}
	return func(get func(string) (tagconfig.Config, bool)) error {
		c, ok := get(id)
		if !ok { // what a driver knows of its tag has an entity tag, too
			var err error
			if c, err = a.store.Get(id); err != nil {
				return errChanged
			}
		}
		_, tag, err := restapi.ContentETag(c)
		if err != nil {
			return err
		}
		return matches(tag)
	}
}

// removeItem serves DELETE /api/v1.0/config/tags/{tagId}.
func (a *API) removeItem(w http.ResponseWriter, r *http.Request) {
	id, err := tagID(r)
	force := false
	if word := r.URL.Query().Get("force"); err == nil && word != "" {
		if force, err = strconv.ParseBool(word); err != nil {
			err = problem.ErrInvalidRequest.Invalid(fault.Field{Field: "force", Message: "must be true or false"})
		}
	}
	if err == nil {
		if configured, _ := a.store.IsConfigured(id); !configured {
			err = tagconfig.ErrNotFound.With("tagName", id)
		}
	}
	if err == nil {
		_, err = a.remove(r.Context(), tagconfig.Edit{Remove: []string{id}, WriteBehind: true, Check: a.matches(r, id)}, force)
	}
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// removeItems serves POST /api/v1.0/config/tags/remove.
func (a *API) removeItems(w http.ResponseWriter, r *http.Request) {
	var body struct {
		TagIDs []string `json:"tagIds"`
		Force  bool     `json:"force"`
	}
	if err := restapi.DecodeStrict(r, &body); err != nil {
		restapi.Error(w, r, err)
		return
	}
	if len(body.TagIDs) == 0 {
		restapi.Error(w, r, tagconfig.ErrEmpty.Invalid(fault.Field{Field: "tagIds", Message: "must name a tag"}))
		return
	}
	result, err := a.remove(r.Context(), tagconfig.Edit{Remove: body.TagIDs}, body.Force)
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	answer(w, r, struct {
		Count   int    `json:"count"`
		Message string `json:"message"`
	}{result.Removed, fmt.Sprintf("%d tags removed", result.Removed)})
}

// remove carries out an edit that removes items, unless somebody uses a tag that would be gone.
func (a *API) remove(ctx context.Context, e tagconfig.Edit, force bool) (tagconfig.Result, error) {
	if !force {
		if err := a.checkUse(ctx, e.Remove); err != nil {
			return tagconfig.Result{}, err
		}
	}
	return a.store.Apply(ctx, e)
}

// checkUse returns an error that lists who uses the tags that would be gone with their items.
func (a *API) checkUse(ctx context.Context, ids []string) error {
	if a.opts.References == nil {
		return nil
	}
	var gone []string
	for _, id := range ids {
		if configured, seeded := a.store.IsConfigured(id); configured && !seeded {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	users, err := a.opts.References(ctx, gone)
	if err != nil {
		return err
	}
	return tagconfig.InUse(users)
}

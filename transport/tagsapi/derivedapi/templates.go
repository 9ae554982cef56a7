package derivedapi

import (
	"github.com/otkit/otkit/transport/internal/restapi"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/tags/tagtemplate"
)

const templates = "/api/v1/tag-templates"

// template is the schema TagTemplate.
type template struct {
	tagtemplate.Template
	Instances int       `json:"instanceCount"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
}

// templateMembers has the members of a template and of what it contains.
type templateMembers struct {
	template
	Tags        []tagconfig.Config   `json:"tags"`
	DerivedTags []derived.Definition `json:"derivedTags"`
}

func encodeTemplate(t tagtemplate.StoredTemplate) template {
	return template{t.Template, t.Instances, t.UpdatedAt.UTC()}
}

// instance is the schema TagTemplateInstance.
type instance struct {
	tagtemplate.Instance
	TemplateID string    `json:"templateId"`
	Tags       []string  `json:"tags"`
	UpdatedAt  time.Time `json:"updatedAt,omitzero"`
}

func encodeInstance(in tagtemplate.StoredInstance) instance {
	return instance{in.Instance, in.TemplateID, in.Tags, in.UpdatedAt.UTC()}
}

// plan is the schema TagTemplatePlan.
type plan struct {
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

func encodePlan(p tagtemplate.Plan) plan {
	list := func(names []string) []string { return append([]string{}, names...) }
	return plan{list(p.Added), list(p.Changed), list(p.Removed)}
}

// edit returns how a request wants an edit to be made.
func (a *API) edit(r *http.Request) (e tagtemplate.Edit, err error) {
	if e.DryRun, err = flag(r, "dryRun"); err != nil {
		return e, err
	}
	force, err := flag(r, "force")
	if err != nil {
		return e, err
	}
	e.Must = ifMatch(r)
	if !force && !e.DryRun {
		e.Allow = func(p tagtemplate.Plan) error { return a.mayRemove(r, p) }
	}
	return e, nil
}

// mayRemove returns an error if others than what goes as well use tags that go.
func (a *API) mayRemove(r *http.Request, p tagtemplate.Plan) error {
	if len(p.Removed) == 0 {
		return nil
	}
	users, err := a.opts.References(r.Context(), p.Removed)
	if err != nil {
		return err
	}
	return tagconfig.InUse(slices.DeleteFunc(users, func(u tagconfig.Reference) bool { return u.Kind == DerivedTagKind && slices.Contains(p.Removed, u.ID) }))
}

func (a *API) listTemplates(w http.ResponseWriter, _ *http.Request) error {
	all := a.templates.Templates()
	list := make([]template, len(all))
	for i := range all {
		list[i] = encodeTemplate(all[i])
	}
	return write(w, http.StatusOK, list, 0)
}

func (a *API) getTemplate(w http.ResponseWriter, r *http.Request) error {
	t, err := a.templates.Template(restapi.PathParam(r, "id"))
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, encodeTemplate(t), t.Revision)
}

func (a *API) addTemplate(w http.ResponseWriter, r *http.Request) error {
	var t tagtemplate.Template
	if err := restapi.DecodeAs(r, &t, templateMembers{}); err != nil {
		return err
	}
	if _, err := a.templates.Create(r.Context(), t, tagtemplate.Edit{}); err != nil {
		return err
	}
	stored, err := a.templates.Template(t.ID)
	if err != nil {
		return err
	}
	w.Header().Set("Location", templates+"/"+url.PathEscape(t.ID))
	return write(w, http.StatusCreated, encodeTemplate(stored), stored.Revision)
}

func (a *API) replaceTemplate(w http.ResponseWriter, r *http.Request) error {
	var t tagtemplate.Template
	if err := restapi.DecodeAs(r, &t, templateMembers{}); err != nil {
		return err
	}
	id := restapi.PathParam(r, "id")
	if err := sameID(id, t.ID, tagtemplate.ErrInvalid); err != nil {
		return err
	}
	t.ID = id
	e, err := a.edit(r)
	if err != nil {
		return err
	}
	p, err := a.templates.Replace(r.Context(), t, e)
	if err != nil {
		return err
	}
	stored, err := a.templates.Template(id)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, encodePlan(p), stored.Revision)
}

func (a *API) removeTemplate(w http.ResponseWriter, r *http.Request) error {
	if err := a.templates.Delete(r.Context(), restapi.PathParam(r, "id"), tagtemplate.Edit{Must: ifMatch(r)}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) listInstances(w http.ResponseWriter, r *http.Request) error {
	all, err := a.templates.Instances(restapi.PathParam(r, "id"))
	if err != nil {
		return err
	}
	list := make([]instance, len(all))
	for i := range all {
		list[i] = encodeInstance(all[i])
	}
	return write(w, http.StatusOK, list, 0)
}

func (a *API) getInstance(w http.ResponseWriter, r *http.Request) error {
	in, err := a.templates.Instance(restapi.PathParam(r, "id"), restapi.PathParam(r, "instanceId"))
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, encodeInstance(in), in.Revision)
}

func (a *API) putInstance(w http.ResponseWriter, r *http.Request) error {
	var in tagtemplate.Instance
	if err := restapi.DecodeAs(r, &in, instance{}); err != nil {
		return err
	}
	id := restapi.PathParam(r, "instanceId")
	if err := sameID(id, in.ID, tagtemplate.ErrInvalid); err != nil {
		return err
	}
	in.ID = id
	e, err := a.edit(r)
	if err != nil {
		return err
	}
	p, _, err := a.templates.PutInstance(r.Context(), restapi.PathParam(r, "id"), in, e)
	if err != nil {
		return err
	}
	revision := int64(0)
	if stored, err := a.templates.Instance(restapi.PathParam(r, "id"), id); err == nil {
		revision = stored.Revision
	}
	return write(w, http.StatusOK, encodePlan(p), revision)
}

func (a *API) removeInstance(w http.ResponseWriter, r *http.Request) error {
	e, err := a.edit(r)
	if err != nil {
		return err
	}
	if err := a.templates.DeleteInstance(r.Context(), restapi.PathParam(r, "id"), restapi.PathParam(r, "instanceId"), e); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

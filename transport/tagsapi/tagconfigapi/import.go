package tagconfigapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

// order is what the caller of an import asks for.
type order struct {
	format  tagconfig.Format
	dryRun  bool
	replace bool // remove what the file does not name
	force   bool // also what is in use
	async   bool
}

// orderOf reads an order from a request.
func orderOf(r *http.Request) (o order, err error) {
	q := r.URL.Query()
	for name := range q { // a misspelt dryRun must not become an import
		if !slices.Contains([]string{"dryRun", "mode", "force", "async"}, name) {
			return o, invalid(name, "is not a parameter of an import: write dryRun, mode, force or async")
		}
	}
	for name, to := range map[string]*bool{"dryRun": &o.dryRun, "force": &o.force, "async": &o.async} {
		if word := q.Get(name); word != "" {
			if *to, err = strconv.ParseBool(word); err != nil {
				return o, invalid(name, "must be true or false")
			}
		}
	}
	if o.replace, err = modeOf(q); err != nil {
		return o, err
	}
	o.format = tagconfig.JSON
	if media := r.Header.Get("Content-Type"); media != "" {
		if o.format, err = tagconfig.ParseContentType(media); err != nil {
			return o, problem.ErrMediaType.Because("the Content-Type must be text/csv, application/json or that of XLSX, %s", tagconfig.XLSX.ContentType())
		}
		// JSON is UTF-8 (RFC 8259); of a sheet, what is not UTF-8 is found where it is.
		_, params, _ := mime.ParseMediaType(media)
		if set := params["charset"]; o.format == tagconfig.JSON && set != "" && !strings.EqualFold(set, "utf-8") {
			return o, problem.ErrMediaType.Because("JSON must be UTF-8")
		}
	}
	return o, nil
}

func modeOf(q url.Values) (replace bool, err error) {
	switch q.Get("mode") {
	case "", "upsert":
		return false, nil
	case "replace":
		return true, nil
	}
	return false, invalid("mode", "must be upsert or replace")
}

func invalid(field, rule string) error {
	return problem.ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: rule})
}

// outcome is what an import has changed, or would change.
type outcome struct {
	tagconfig.Differences
	removed  []string // nil unless mode is replace
	warnings warnings
}

func (o *outcome) count() int { return len(o.Added) + len(o.Changed) + len(o.removed) }

// load serves POST /api/v1.0/config/tags/import.
func (a *API) load(w http.ResponseWriter, r *http.Request) {
	o, err := orderOf(r)
	if err == nil && o.replace && !o.dryRun {
		err = a.opts.MayRemove(r.Context())
	}
	if err == nil && o.async {
		a.begin(w, r, o)
		return
	}
	var done outcome
	if err == nil {
		done, err = a.imports.now(r.Context(), func(ctx context.Context) (outcome, error) {
			return a.carryOut(ctx, r.Body, o, &job{})
		})
	}
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	stream(w, r, func(out io.Writer) error { return done.write(out, o.dryRun) })
}

// carryOut reads a file and does what the order says.
func (a *API) carryOut(ctx context.Context, file io.Reader, o order, j *job) (outcome, error) {
	var done outcome
	edit, err := tagconfig.Limits{Rows: a.opts.MaxItems, Bytes: a.opts.MaxImportBytes, Odd: done.warnings.unknown, Progress: func(items int) error {
		j.rows.Store(int64(items))
		return ctx.Err()
	}}.ImportEdit(file, o.format)
	var tooLarge *http.MaxBytesError // a fault of tagconfig is around it
	switch {
	case errors.As(err, &tooLarge):
		return outcome{}, problem.FromDecode(tooLarge)
	case err != nil:
		return outcome{}, problem.FromDecode(err)
	}
	j.rows.Store(int64(len(edit.Put)))
	j.enter(comparing)
	done.Differences = tagconfig.Diff(a.store.All(), edit.Put)
	if o.replace {
		done.removed = tagconfig.Missing(a.store.AllConfigured(), edit.Put)
		edit.Remove = done.removed
	}
	edit.Put = a.withoutKnown(edit.Put, done.Unchanged)
	if o.dryRun {
		a.warn(&done, edit.Put)
		return done, nil
	}
	if err := ctx.Err(); err != nil {
		return outcome{}, problem.ErrCanceled.Wrap(err)
	}
	j.enter(applying)
	err = a.apply(ctx, edit, o.force)
	if err == nil {
		a.warn(&done, edit.Put)
	}
	return done, err
}

// warn adds warnings of the items that an import adds or changes.
func (a *API) warn(o *outcome, put []tagconfig.Config) {
	for i := range put {
		if _, same := slices.BinarySearch(o.Unchanged, put[i].TagID); !same {
			o.warnings.refused(&put[i], a.opts.Refused)
		}
	}
}

// withoutKnown leaves out the items that are what the driver says already: as items of the configuration they would keep the tags of an
// export that comes back from following their driver. unchanged is sorted.
func (a *API) withoutKnown(put []tagconfig.Config, unchanged []string) []tagconfig.Config {
	if len(unchanged) == 0 {
		return put
	}
	configured := map[string]bool{}
	for c := range a.store.AllConfigured() {
		configured[c.TagID] = true
	}
	left := make([]tagconfig.Config, 0, len(put)) // of its own: what was added points into put
	for i := range put {
		if _, same := slices.BinarySearch(unchanged, put[i].TagID); !same || configured[put[i].TagID] {
			left = append(left, put[i])
		}
	}
	return left
}

// write writes the schema ImportAnswer of the OpenAPI document.
func (o *outcome) write(w io.Writer, dryRun bool) error {
	buf := strconv.AppendBool([]byte(`{"dryRun":`), dryRun)
	buf = strconv.AppendInt(append(buf, `,"count":`...), int64(o.count()), 10)
	if _, err := w.Write(buf); err != nil {
		return err
	}
	err := writeList(w, "added", o.Added, (*tagconfig.Config).AppendJSON)
	if err == nil {
		err = writeList(w, "changed", o.Changed, appendAny)
	}
	if err == nil {
		err = writeList(w, "unchanged", o.Unchanged, appendAny)
	}
	if err == nil && o.removed != nil {
		err = writeList(w, "removed", o.removed, appendAny)
	}
	if err != nil {
		return err
	}
	end := []byte{'}'}
	if o.warnings.Count > 0 {
		if end, err = json.Marshal(o.warnings); err != nil {
			return err
		}
		end[0] = ','
	}
	_, err = w.Write(end)
	return err
}

func appendAny[T any](v T, dst []byte) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(dst, text...), err
}

func writeList[T any](w io.Writer, name string, list []T, encode func(T, []byte) ([]byte, error)) (err error) {
	buf := append(strconv.AppendQuote([]byte(","), name), ":["...)
	for i, v := range list {
		if i > 0 {
			buf = append(buf, ',')
		}
		if buf, err = encode(v, buf); err != nil {
			return err
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
	_, err = w.Write(append(buf, ']'))
	return err
}

// apply carries out an edit within what the caller may.
func (a *API) apply(ctx context.Context, edit tagconfig.Edit, force bool) error {
	if !force {
		if err := a.checkUse(ctx, edit.Remove); err != nil {
			return err
		}
	}
	edit.MaxItems, edit.Report = a.maxTags(ctx), true
	result, err := a.store.Apply(ctx, edit)
	if err != nil {
		return a.limited(ctx, err)
	}
	a.opts.OnImport(ctx, result.Changes)
	return nil
}

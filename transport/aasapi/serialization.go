package aasapi

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

const (
	contentXML  = "application/xml"
	contentAASX = "application/asset-administration-shell-package+xml"
)

// maxSerialized bounds the documents of one serialisation that has to be made in memory.
const maxSerialized = 10_000

var errTooMuch = fault.New(fault.TooLarge, "SERIALIZATION_TOO_LARGE", "the serialization has too much in it; name aasIds and submodelIds")

// accepted gives the form of a serialisation that the request asks for; the first that is known wins.
func (c *call) accepted() (string, error) {
	accept := strings.Join(c.r.Header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return contentJSON, nil
	}
	best, weight := "", 0.0
	for one := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(one)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		form := ""
		switch media {
		case contentJSON, "*/*", "application/*":
			form = contentJSON
		case contentXML, "text/xml":
			form = contentXML
		case contentAASX, "application/asset-administration-shell-package", "application/aasx+xml":
			form = contentAASX
		}
		if form != "" && q > weight {
			best, weight = form, q
		}
	}
	if best == "" {
		return "", errNotAcceptable.Because("%s, %s and %s are", contentJSON, contentXML, contentAASX)
	}
	return best, nil
}

// selection is what a serialisation has in it. Nothing named means everything.
type selection struct {
	shells, submodels []string
	all, concepts     bool
}

func (c *call) selection() (selection, error) {
	var s selection
	var err error
	if s.shells, err = c.ids("aasIds"); err != nil {
		return s, err
	}
	if s.submodels, err = c.ids("submodelIds"); err != nil {
		return s, err
	}
	s.all = len(s.shells) == 0 && len(s.submodels) == 0
	if len(s.shells)+len(s.submodels) > maxSerialized {
		return s, errTooMuch
	}
	s.concepts, err = c.truth("includeConceptDescriptions", true)
	return s, err
}

func serialize(c *call) error {
	form, err := c.accepted()
	if err != nil {
		return err
	}
	s, err := c.selection()
	if err != nil {
		return err
	}
	if form == contentJSON && s.all {
		return c.streamAll(s.concepts)
	}
	env, err := c.environment(s)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	switch form {
	case contentXML:
		err = aasxml.Encode(&buf, env)
	case contentAASX:
		err = c.writePackage(&buf, env)
		c.w.Header().Set("Content-Disposition", `attachment; filename="serialization.aasx"`)
	default:
		buf.Write(aas.Append(nil, env))
	}
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", form)
	c.w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method != http.MethodHead {
		_, _ = buf.WriteTo(c.w)
	}
	return nil
}

// streamAll answers with everything as JSON, page by page as it is stored. An error after the answer
// has begun breaks the connection, so that nobody takes a part for the whole.
func (c *call) streamAll(withConcepts bool) error {
	c.w.Header().Set("Content-Type", contentJSON)
	if c.r.Method == http.MethodHead {
		return nil
	}
	begun := &begunWriter{w: c.w}
	out := bufio.NewWriterSize(begun, 64<<10)
	err := streamKinds(c, out, withConcepts)
	if err == nil {
		err = out.Flush()
	}
	if err != nil && begun.yes {
		if c.ctx().Err() == nil {
			problem.Report(c.ctx(), err)
		}
		panic(http.ErrAbortHandler)
	}
	return err
}

// begunWriter knows whether anything was written.
type begunWriter struct {
	w   io.Writer
	yes bool
}

func (b *begunWriter) Write(p []byte) (int, error) {
	b.yes = true
	return b.w.Write(p)
}

func streamKinds(c *call, out *bufio.Writer, withConcepts bool) error {
	_ = out.WriteByte('{') // an error of a bufio.Writer stays until Flush
	some := false
	if err := streamKind(c, out, c.service.Shells, "assetAdministrationShells", &some); err != nil {
		return err
	}
	if err := streamKind(c, out, c.service.Submodels, "submodels", &some); err != nil {
		return err
	}
	if withConcepts {
		if err := streamKind(c, out, c.service.Concepts, "conceptDescriptions", &some); err != nil {
			return err
		}
	}
	return out.WriteByte('}')
}

// streamKind writes every document of a repository as one member; none is no member.
func streamKind[T aas.Kept](c *call, out *bufio.Writer, r *aas.Repository[T], member string, some *bool) error {
	before := "\"" + member + "\":["
	if *some {
		before = "," + before
	}
	for q := (aas.Query{Limit: c.opts.PageSize}); ; {
		p, err := r.Find(c.ctx(), q)
		if err != nil {
			return err
		}
		for i := range p.Documents {
			_, _ = out.WriteString(before)
			if _, err := out.Write(p.Documents[i].JSON); err != nil {
				return err
			}
			before, q.After, *some = ",", p.Documents[i].ID, true
		}
		if !p.More || len(p.Documents) == 0 {
			break
		}
	}
	if before == "," {
		return out.WriteByte(']')
	}
	return nil
}

// environment gathers what was selected. With named ids only those concept descriptions are in it that
// a selected submodel refers to.
func (c *call) environment(s selection) (*aas.Environment, error) {
	ctx, service := c.ctx(), c.service
	env := new(aas.Environment)
	var err error
	if s.all {
		room := maxSerialized
		env.Shells = gather(ctx, service.Shells, &room, &err)
		env.Submodels = gather(ctx, service.Submodels, &room, &err)
		if s.concepts {
			env.ConceptDescriptions = gather(ctx, service.Concepts, &room, &err)
		}
		return env, err
	}
	if env.Shells, err = named(ctx, service.Shells, s.shells, aas.ErrShellNotFound); err != nil {
		return nil, err
	}
	if env.Submodels, err = named(ctx, service.Submodels, s.submodels, aas.ErrSubmodelNotFound); err != nil {
		return nil, err
	}
	if s.concepts {
		env.ConceptDescriptions, err = named(ctx, service.Concepts, meanings(env.Submodels), nil)
	}
	return env, err
}

// gather gives every document of a repository, as far as there is room.
func gather[T aas.Kept](ctx context.Context, r *aas.Repository[T], room *int, failure *error) []*T {
	var list []*T
	if *failure != nil {
		return nil
	}
	for v, err := range r.All(ctx, aas.Query{}) {
		if err == nil && *room == 0 {
			err = errTooMuch
		}
		if err != nil {
			*failure = err
			return nil
		}
		list = append(list, v)
		*room--
	}
	return list
}

// named gives the documents with some ids. One that is missing is an error, unless there is none for it.
func named[T aas.Kept](ctx context.Context, r *aas.Repository[T], ids []string, missing *fault.Error) ([]*T, error) {
	docs, err := r.Documents(ctx, ids...)
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(docs))
	list := make([]*T, len(docs))
	for i := range docs {
		there[docs[i].ID] = true
		if list[i], err = aas.Decode[T](docs[i].JSON); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if missing != nil && !there[id] {
			return nil, missing.On("id", id)
		}
	}
	return list, nil
}

// meanings gives the ids that the semantic ids in some submodels lead to.
func meanings(list []*aas.Submodel) []string {
	var ids []string
	seen := make(map[string]bool)
	add := func(s aas.Semantics) {
		for _, ref := range append(s.SupplementalSemanticIDs[:len(s.SupplementalSemanticIDs):len(s.SupplementalSemanticIDs)], refs(s.SemanticID)...) {
			if n := len(ref.Keys); n > 0 && !seen[ref.Keys[n-1].Value] {
				seen[ref.Keys[n-1].Value] = true
				ids = append(ids, ref.Keys[n-1].Value)
			}
		}
	}
	for _, s := range list {
		add(s.Semantics)
		s.Walk(func(_ aas.Path, e aas.Element) bool {
			add(e.Common().Semantics)
			return true
		})
	}
	return ids
}

func refs(r *aas.Reference) []aas.Reference {
	if r == nil {
		return nil
	}
	return []aas.Reference{*r}
}

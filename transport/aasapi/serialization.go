package aasapi

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/problem"
)

const (
	contentXML     = "application/xml"
	contentTextXML = "text/xml"
	contentAASX    = "application/asset-administration-shell-package+xml"
)

// maxSerialized bounds the documents of one serialization that has to be made in memory.
const maxSerialized = 10_000

// accepted returns the form of a serialization that the request asks for; the first that is known wins.
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
		case contentXML, contentTextXML:
			form = media
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

// selection reads what a serialization is to have in it. Nothing named means everything.
func (c *call) selection() (s exchange.Selection, err error) {
	s.MaxDocuments, s.MaxBytes = maxSerialized, c.opts.MaxSerializedBytes
	if s.Shells, err = c.ids("aasIds"); err != nil {
		return s, err
	}
	if s.Submodels, err = c.ids("submodelIds"); err != nil {
		return s, err
	}
	s.WithConcepts, err = c.truth("includeConceptDescriptions", true)
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
	if form == contentJSON && len(s.Shells) == 0 && len(s.Submodels) == 0 {
		return c.streamAll(s.WithConcepts)
	}
	select {
	case c.serializing <- struct{}{}:
		defer func() { <-c.serializing }() // after the answer is written: until then it is in memory
	default:
		return errSerializing.With("retryAfter", "10")
	}
	format := map[string]exchange.Format{contentJSON: exchange.JSON, contentXML: exchange.XML, contentTextXML: exchange.XML, contentAASX: exchange.AASX}[form]
	s.WithFiles = format == exchange.AASX
	var buf bytes.Buffer
	if err := c.gather(&buf, s, format); err != nil {
		return err
	}
	if format == exchange.AASX {
		c.w.Header().Set("Content-Disposition", `attachment; filename="serialization.aasx"`)
	}
	c.w.Header().Set("Content-Type", form)
	c.w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method != http.MethodHead {
		_, _ = c.patient().Write(buf.Bytes())
	}
	return nil
}

func (c *call) gather(buf *bytes.Buffer, s exchange.Selection, format exchange.Format) error {
	if err := c.untimed(); err != nil {
		return err
	}
	p, err := exchange.Export(c.ctx(), c.service, s)
	if err != nil {
		return err
	}
	if c.oldVersion() {
		if c.omitted, err = exchange.WriteV30(buf, p, format); err == nil {
			c.warn()
		}
		return err
	}
	return exchange.Write(buf, p, format)
}

// streamAll answers with everything as JSON, page by page as it is stored. An error after the answer
// has begun breaks the connection, so that a partial answer is not taken for a whole one.
func (c *call) streamAll(withConcepts bool) error {
	c.w.Header().Set("Content-Type", contentJSON)
	if c.r.Method == http.MethodHead {
		return nil
	}
	if err := c.untimed(); err != nil {
		return err
	}
	begun := &begunWriter{w: c.patient()}
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
func streamKind[T repository.Storable](c *call, out *bufio.Writer, r *repository.Repository[T], member string, some *bool) error {
	before := "\"" + member + "\":["
	if *some {
		before = "," + before
	}
	for q := (repository.Query{Limit: c.opts.PageSize, MaxBytes: pageBytes}); ; {
		p, err := r.Find(c.ctx(), q)
		if err != nil {
			return err
		}
		for i := range p.Documents {
			_, _ = out.WriteString(before)
			entry := p.Documents[i].JSON
			if c.oldVersion() {
				if entry, err = stored[T](c, nil, &p.Documents[i]); err != nil {
					return err
				}
			}
			if _, err := out.Write(entry); err != nil {
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

package aasapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/problem"
)

const (
	contentBytes = "application/octet-stream"
	maxFileName  = 1024
)

// upload is a file that was sent as a form.
type upload struct {
	name, contentType string
	shellIDs          []string // those of a package
	data              []byte
}

// uploaded reads the form of the standard: fileName, file and, for a package, aasIds.
func (c *call) uploaded() (upload, error) {
	var u upload
	// The form is larger than the file by its boundaries, headers and the name.
	limit := c.opts.MaxFileBytes + 64<<10
	if c.r.ContentLength > limit {
		c.w.Header().Set("Connection", "close")
		return u, problem.FromDecode(&http.MaxBytesError{Limit: c.opts.MaxFileBytes})
	}
	if media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || media != "multipart/form-data" {
		return u, problem.ErrMediaType.Because("multipart/form-data is wanted")
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, limit)
	form, err := c.r.MultipartReader()
	if err != nil {
		return u, problem.ErrInvalidRequest.Because("the form cannot be read").Wrap(err)
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return u, formError(err)
		}
		switch part.FormName() {
		case "fileName":
			name, err := io.ReadAll(io.LimitReader(part, maxFileName+1))
			if err != nil {
				return u, formError(err)
			}
			if len(name) > maxFileName {
				return u, invalid("fileName", "has more than 1024 bytes")
			}
			u.name = string(name)
		case "aasIds":
			if err := u.addShellIDs(part); err != nil {
				return u, err
			}
		case "file":
			if u.data, err = io.ReadAll(io.LimitReader(part, c.opts.MaxFileBytes+1)); err != nil {
				return u, formError(err)
			}
			if int64(len(u.data)) > c.opts.MaxFileBytes {
				return u, problem.FromDecode(&http.MaxBytesError{Limit: c.opts.MaxFileBytes})
			}
			if u.name == "" {
				u.name = part.FileName()
			}
			u.contentType = part.Header.Get("Content-Type")
		}
	}
	if u.data == nil {
		return u, invalid("file", "is required")
	}
	u.contentType = contentTypeOf(u.name, u.contentType)
	return u, nil
}

// addShellIDs reads one id as it is, or several as a JSON array.
func (u *upload) addShellIDs(part io.Reader) error {
	data, err := io.ReadAll(part) // the form as a whole is bounded
	if err != nil {
		return formError(err)
	}
	var several []string
	switch {
	case len(data) == 0: // how some clients send none
	case data[0] == '[' && json.Unmarshal(data, &several) == nil:
		u.shellIDs = append(u.shellIDs, several...)
	default:
		u.shellIDs = append(u.shellIDs, string(data))
	}
	return nil
}

func formError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return problem.FromDecode(tooLarge)
	}
	return problem.ErrInvalidRequest.Because("the form cannot be read").Wrap(err)
}

// contentTypeOf returns the media type of a file. Clients send the general one when they do not know.
func contentTypeOf(name, sent string) string {
	media, params, err := mime.ParseMediaType(sent)
	if err == nil && media != contentBytes && strings.Contains(media, "/") {
		return mime.FormatMediaType(media, params)
	}
	if known := mime.TypeByExtension(path.Ext(name)); known != "" {
		return known
	}
	return contentBytes
}

// file answers with a stored file, or the parts of it that the request wants. It is offered for saving and
// never shown by a browser in place, because whoever may upload decides on its type.
func (c *call) file(f repository.StoredFile) error {
	contentType := f.ContentType
	if accept := c.r.Header.Get("Accept"); contentType == "" || accept == contentBytes {
		contentType = contentBytes
	}
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
	if d := mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(f.Key.Name)}); d != "" {
		h.Set("Content-Disposition", d)
	}
	answer := fileAnswer{ResponseWriter: c.w, body: c.patient()}
	http.ServeContent(&answer, c.r, "", time.Time{}, bytes.NewReader(f.Data))
	switch answer.refused {
	case 0:
		return nil
	case http.StatusPreconditionFailed:
		return repository.ErrVersionChanged
	}
	return errNoSuchRange
}

// fileAnswer has a patient body, and leaves refusals to the caller.
type fileAnswer struct {
	http.ResponseWriter
	body    io.Writer
	refused int
}

// WriteHeader implements http.ResponseWriter.
func (a *fileAnswer) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	a.refused = status
	for _, name := range []string{"Content-Disposition", "Content-Security-Policy", "Content-Length", "X-FileName"} {
		a.Header().Del(name)
	}
}

// Write implements http.ResponseWriter.
func (a *fileAnswer) Write(data []byte) (int, error) {
	if a.refused != 0 {
		return len(data), nil
	}
	return a.body.Write(data)
}

// fileOf answers with a file of a document. Its tag is the version of the document, for a write with
// If-Match, when no other came while it was read.
func (c *call) fileOf(kind repository.Kind, id string, read func() (repository.StoredFile, error)) error {
	before, err := c.service.VersionOf(c.ctx(), kind, id)
	if err != nil {
		return err
	}
	f, err := read()
	if err != nil {
		return err
	}
	after, err := c.service.VersionOf(c.ctx(), kind, id)
	if err != nil {
		return err
	}
	if before == after {
		c.tag(after)
	}
	return c.file(f)
}

// asFile returns the error of an element that has no file: the method is not one that it takes.
func (c *call) asFile(err error) error {
	if errors.Is(err, repository.ErrNotAFile) {
		c.w.Header().Set("Allow", http.MethodOptions)
		return errWrongElement.Because("only a File has an attachment")
	}
	return err
}

func getAttachment(c *call) error {
	id, p, err := c.target()
	if err != nil {
		return err
	}
	return c.asFile(c.fileOf(repository.KindSubmodel, id, func() (repository.StoredFile, error) { return c.service.GetFile(c.ctx(), id, p) }))
}

func putAttachment(c *call) error {
	id, p, err := c.target()
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	u, err := c.uploaded()
	if err != nil {
		return err
	}
	if err := c.service.PutFile(c.ctx(), id, p, u.name, u.contentType, u.data, match); err != nil {
		return c.asFile(err)
	}
	return c.noContent()
}

func deleteAttachment(c *call) error {
	id, p, err := c.target()
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	if err := c.service.DeleteFile(c.ctx(), id, p, match); err != nil {
		return c.asFile(err)
	}
	c.w.WriteHeader(http.StatusOK) // and not 204: the official document has it so
	return nil
}

func getThumbnail(c *call) error {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return err
	}
	return c.fileOf(repository.KindShell, id, func() (repository.StoredFile, error) { return c.service.Thumbnail(c.ctx(), id) })
}

func putThumbnail(c *call) error {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	u, err := c.uploaded()
	if err != nil {
		return err
	}
	if err := c.service.PutThumbnail(c.ctx(), id, u.name, u.contentType, u.data, match); err != nil {
		return err
	}
	return c.noContent()
}

func deleteThumbnail(c *call) error {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	if err := c.service.DeleteThumbnail(c.ctx(), id, match); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}

package aasapi

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"

	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// maxUploadedFiles bounds the files of an uploaded package as they are kept, in bytes.
const maxUploadedFiles = 256 << 20

// report is the answer to an upload.
type report struct {
	Created  int           `json:"created"`
	Replaced int           `json:"replaced"`
	Files    int           `json:"files"`
	Unused   []string      `json:"unused"`
	Findings []fault.Field `json:"findings"`
}

// postUpload imports an AASX package, or an environment as JSON or XML: all of it or, after an error, none.
func postUpload(c *call) error {
	replace, err := c.truth("replace", false)
	if err != nil {
		return err
	}
	o := repository.ImportOptions{Replace: replace, MaxBytes: maxUploadedFiles, Verification: repository.Verification(c.query.Get("verification"))}
	if o.Verification == "" {
		o.Verification = repository.VerifyPermissive // as the command has it: much of what is in use breaks some rule
	}
	u, err := c.sentEnvironment()
	if err != nil {
		return err
	}
	format, ok := formatOf(u)
	if !ok {
		return problem.ErrMediaType.Because("an AASX package, or an environment as JSON or XML, is wanted")
	}
	o.KeepUnnamed = format != exchange.AASX
	select {
	case c.serializing <- struct{}{}:
		defer func() { <-c.serializing }()
	default:
		return errSerializing.With("retryAfter", "10")
	}
	if err := c.untimed(); err != nil {
		return err
	}
	p, err := exchange.Read(bytes.NewReader(u.data), int64(len(u.data)), format, aasx.Limits{MaxFileBytes: c.opts.MaxFileBytes})
	if err != nil {
		return err
	}
	r, err := exchange.Import(c.ctx(), c.service, p, o)
	if err != nil {
		return err
	}
	body, err := json.Marshal(report{r.Created, r.Replaced, r.Files, append([]string{}, r.Unused...), append([]fault.Field{}, r.Findings...)})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, body)
}

// sentEnvironment reads a form with a file, or the file itself as the body.
func (c *call) sentEnvironment() (upload, error) {
	sent := c.r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(sent); err == nil && media == "multipart/form-data" {
		return c.uploaded()
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, c.opts.MaxFileBytes))
	if err != nil {
		return upload{}, problem.FromDecode(err)
	}
	return upload{contentType: sent, data: data}, nil
}

// formatOf detects the format of an upload by its file name, media type or first bytes.
func formatOf(u upload) (exchange.Format, bool) {
	if f, ok := exchange.FormatOf(u.name); ok {
		return f, true
	}
	media, _, _ := mime.ParseMediaType(u.contentType)
	switch media {
	case contentJSON:
		return exchange.JSON, true
	case contentXML, contentTextXML:
		return exchange.XML, true
	case contentAASX, repository.PackageMediaType, "application/aasx+xml":
		return exchange.AASX, true
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(u.data, []byte("\ufeff")), " \t\r\n")
	for start, f := range map[string]exchange.Format{"PK\x03\x04": exchange.AASX, "{": exchange.JSON, "<": exchange.XML} {
		if bytes.HasPrefix(text, []byte(start)) {
			return f, true
		}
	}
	return "", false
}

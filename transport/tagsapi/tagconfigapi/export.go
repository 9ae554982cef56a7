package tagconfigapi

import (
	"bufio"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

// get serves GET /api/v1.0/config/tags.
func (a *API) get(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	stream(w, r, func(out io.Writer) error { return tagconfig.Export(out, tagconfig.JSON, a.store.AllEffective()) })
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
	w.Header().Set("Content-Type", format.ContentType())
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "tags." + string(format)}))
	stream(w, r, func(out io.Writer) error { return tagconfig.Export(out, format, a.store.All()) })
}

// stream answers with what write makes, as it is made. If that fails, or the client takes nothing for a while, the connection is
// cut: half an answer must not pass for a whole one.
func stream(w http.ResponseWriter, r *http.Request, write func(io.Writer) error) {
	if r.Method == http.MethodHead {
		return
	}
	out := bufio.NewWriterSize(&patient{w, http.NewResponseController(w)}, 64<<10)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// writeLimit is how long a client may take for one part of an answer.
const writeLimit = time.Minute

// patient gives the client time for each part, not for the whole answer.
type patient struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer.
func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeLimit)) // not every ResponseWriter can
	return p.w.Write(b)
}

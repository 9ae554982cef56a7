package predictiveapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/predictiveapi/internal/gen"
)

// wantsCSV reports whether a caller prefers CSV to JSON.
func wantsCSV(ctx context.Context) bool {
	var csv, json, any float64 = 0, -1, -1
	for part := range strings.SplitSeq(strings.Join(requestOf(ctx).Header.Values("Accept"), ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		switch media {
		case "text/csv":
			csv = max(csv, q)
		case "application/json":
			json = max(json, q)
		case "application/*", "*/*":
			any = max(any, q)
		}
	}
	if json < 0 {
		json = any
	}
	return csv > 0 && csv > json
}

// download is an answer with a CSV file. A failure before the first bytes is answered as one; a later one breaks the connection, because
// nothing else tells that the file is not whole.
type download struct {
	h     *handlers
	ctx   context.Context
	name  string
	write func(context.Context, io.Writer) error
	head  bool // only the head of the answer is wanted
}

func (h *handlers) download(ctx context.Context, name string, write func(context.Context, io.Writer) error) *download {
	return &download{h, ctx, name, write, requestOf(ctx).Method == http.MethodHead}
}

// ExportTrainingSet implements GET .../training-set/{modelType}.
func (h *handlers) ExportTrainingSet(ctx context.Context, r gen.ExportTrainingSetRequestObject) (gen.ExportTrainingSetResponseObject, error) {
	modelType, err := predictive.ParseModelType(r.ModelType)
	if err != nil {
		return nil, err
	}
	return h.download(ctx, "training-set-"+string(modelType)+".csv", func(ctx context.Context, w io.Writer) error {
		return h.service.Export(ctx, modelType, w)
	}), nil
}

// VisitListFailuresResponse implements gen.ListFailuresResponseObject.
func (d *download) VisitListFailuresResponse(w http.ResponseWriter) error { return d.send(w) }

// VisitListReplacementsResponse implements gen.ListReplacementsResponseObject.
func (d *download) VisitListReplacementsResponse(w http.ResponseWriter) error { return d.send(w) }

// VisitExportTrainingSetResponse implements gen.ExportTrainingSetResponseObject.
func (d *download) VisitExportTrainingSetResponse(w http.ResponseWriter) error { return d.send(w) }

func (d *download) send(w http.ResponseWriter) error {
	out := &fileWriter{w: w, control: http.NewResponseController(w), name: d.name}
	if d.head {
		out.begin()
		return nil
	}
	// Making the file may take longer than an answer may.
	if err := restapi.Stream(w); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	ctx, done, err := d.h.wait(d.ctx)
	if err != nil {
		return err
	}
	defer done()
	buffer := bufio.NewWriterSize(out, 32<<10)
	err = d.write(ctx, buffer)
	if err == nil {
		err = buffer.Flush()
	}
	switch {
	case err == nil:
		return nil
	case out.began:
		panic(http.ErrAbortHandler)
	}
	out.extend()
	return causeOf(ctx, err)
}

// fileWriter sets the head of the answer with the first bytes, and gives the client time for each part.
type fileWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	name    string
	began   bool
}

func (f *fileWriter) begin() {
	f.began = true
	head := f.w.Header()
	head.Set("Content-Type", "text/csv; charset=utf-8")
	head.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.name}))
	head.Set("X-Content-Type-Options", "nosniff")
	f.w.WriteHeader(http.StatusOK)
}

func (f *fileWriter) extend() { _ = f.control.SetWriteDeadline(time.Now().Add(writeLimit)) }

func (f *fileWriter) Write(p []byte) (int, error) {
	if !f.began {
		f.begin()
	}
	f.extend()
	return f.w.Write(p)
}

package auditapi

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/timestamp"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// export implements GET /api/v1/audit/export.
func (h *handlers) export(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r.URL.Query())
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	// The first page decides whether there is an answer at all; after it the status is sent.
	if _, _, err := h.log.List(r.Context(), with(q, 1)); err != nil {
		restapi.Error(w, r, err)
		return
	}
	format, write := "csv", h.writeCSV
	if r.URL.Query().Get("format") == "ndjson" {
		format, write = "ndjson", h.writeNDJSON
	}
	w.Header().Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}[format])
	w.Header().Set("Content-Disposition", `attachment; filename="audit.`+format+`"`)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodHead {
		return
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := write(r.Context(), out, q); err == nil {
		_ = out.Flush() // who reads it has gone
		return
	}
	// The status is sent: only a broken connection tells that the answer is not whole.
	panic(http.ErrAbortHandler)
}

func with(q audit.Query, limit int) audit.Query {
	q.Limit = limit
	return q
}

func queryOf(v url.Values) (audit.Query, error) {
	q := audit.Query{Actor: v.Get("actor"), Action: v.Get("action"), Object: v.Get("object"), Outcome: audit.Outcome(v.Get("outcome"))}
	var bad []fault.Field
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{"start", &q.From}, {"end", &q.To}} {
		text := v.Get(t.name)
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, timestamp.Normalize(text))
		if err != nil {
			bad = append(bad, fault.Field{Field: t.name, Message: "must be an RFC 3339 time"})
		}
		*t.to = at
	}
	if text := v.Get("before"); text != "" {
		before, err := strconv.ParseInt(text, 10, 64)
		if err != nil || before < 1 {
			bad = append(bad, fault.Field{Field: "before", Message: "must be the id of a record"})
		}
		q.Before = before
	}
	if f := v.Get("format"); f != "" && f != "csv" && f != "ndjson" {
		bad = append(bad, fault.Field{Field: "format", Message: "must be csv or ndjson"})
	}
	if len(bad) > 0 {
		return q, audit.ErrInvalidQuery.Invalid(bad...)
	}
	return q, nil
}

func (h *handlers) writeNDJSON(ctx context.Context, w io.Writer, q audit.Query) error {
	e := json.NewEncoder(w)
	for r, err := range h.log.All(ctx, q) {
		if err != nil {
			return err
		}
		if err := e.Encode(recordOf(r)); err != nil {
			return err
		}
	}
	return nil
}

var columns = []string{"id", "time", "endedAt", "actor", "principal", "role", "session", "address", "via", "action", "objects", "before", "after", "outcome", "code", "detail", "hash"}

func (h *handlers) writeCSV(ctx context.Context, w io.Writer, q audit.Query) error {
	c := csv.NewWriter(w)
	if err := c.Write(columns); err != nil {
		return err
	}
	for r, err := range h.log.All(ctx, q) {
		if err != nil {
			return err
		}
		row := []string{strconv.FormatInt(r.ID, 10), stamp(r.Time), stamp(r.EndedAt), r.Actor, r.Principal, r.Role, r.Session, r.Address, r.Via,
			r.Action, strings.Join(r.Objects, " "), r.Before, r.After, string(r.Outcome), r.Code, r.Detail, r.Hash.String()}
		for i := range row {
			row[i] = harmless(row[i])
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// harmless keeps a spreadsheet from running a cell as a formula.
func harmless(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

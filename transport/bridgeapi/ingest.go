package bridgeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/internal/timestamp"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/passive"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

// Passive takes the data of a device that sends by itself. *passive.Driver is one.
type Passive interface {
	// Push takes all items or none. Its error names the items that are wrong.
	Push(ctx context.Context, items []passive.Item) error
	// LastData returns when data came last; zero before the first.
	LastData() time.Time
}

var errNoPassive = fault.New(fault.NotFound, "DRIVER_NOT_FOUND", "there is no passive driver of this id")

// maxFaults is how many wrong members an answer names.
const maxFaults = 20

// ingest implements POST /api/bridge/ingest/{driverId}.
func (h *handlers) ingest(w http.ResponseWriter, r *http.Request) {
	result, err := h.take(r)
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	_ = restapi.WriteJSON(w, http.StatusAccepted, result) // who sent it has gone
}

func (h *handlers) take(r *http.Request) ([]byte, error) {
	ctx := r.Context()
	if err := h.o.AdmitData(ctx); err != nil {
		return nil, err
	}
	if id := chi.URLParam(r, "driverId"); h.Passive == nil || !h.isDriver(id) {
		return nil, errNoPassive
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, problem.FromDecode(err)
	}
	bound := h.isBound()
	n, err := h.push(ctx, body)
	if err != nil {
		return nil, err
	}
	if err := h.Host.Flush(ctx); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"accepted":%d,"buffered":%t}`, n, bound && h.isBound()), nil
}

// isDriver reports whether a path parameter, which is encoded still, names the driver.
func (h *handlers) isDriver(param string) bool {
	id, err := url.PathUnescape(param)
	return err == nil && id == h.DriverID
}

func (h *handlers) isBound() bool { return h.Host.Status().Status == link.StatusBound }

// wireItem is an item as it is sent.
type wireItem struct {
	Address   string          `json:"address"`
	Name      string          `json:"name"`
	Value     json.RawMessage `json:"value"`
	Timestamp string          `json:"timestamp"`
	Quality   string          `json:"quality"`
}

// push reads one item, or a list of items, and gives them to the driver. It returns how many there are. The error names each member that is
// wrong.
func (h *handlers) push(ctx context.Context, body []byte) (int, error) {
	list, single := []json.RawMessage{body}, true
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		single = false
		if err := json.Unmarshal(trimmed, &list); err != nil {
			return 0, problem.FromDecode(err)
		}
	} else if !json.Valid(body) {
		var v any
		return 0, problem.FromDecode(json.Unmarshal(body, &v))
	}
	items, err := h.read(list)
	if err == nil {
		err = h.Passive.Push(ctx, items)
	}
	if f, ok := fault.From(err); ok && len(f.Fields) > 0 {
		err = renamed(f, single)
	}
	return len(items), err
}

// renamed returns an error about items whose fields are named as in the request.
func renamed(f *fault.Error, single bool) error {
	out := *f
	out.Fields = make([]fault.Field, len(f.Fields))
	for i, field := range f.Fields {
		if at, ok := strings.CutSuffix(field.Field, "].time"); ok {
			field.Field = at + "].timestamp"
		}
		if single {
			field.Field = strings.TrimPrefix(field.Field, "[0].")
		}
		out.Fields[i] = field
	}
	return &out
}

// read decodes items. What they mean is the driver's matter.
func (h *handlers) read(list []json.RawMessage) ([]passive.Item, error) {
	if len(list) > passive.MaxItems {
		return nil, passive.ErrInvalidItems.Because("%d items, not 1 to %d", len(list), passive.MaxItems)
	}
	items := make([]passive.Item, len(list))
	var bad []fault.Field
	for i, raw := range list {
		path := fmt.Sprintf("[%d]", i)
		w, wrong := decodeItem(raw, path)
		if len(wrong) == 0 {
			items[i], wrong = w.read(path + ".")
			items[i].Name = strings.TrimPrefix(w.Name, h.DriverID+".")
		}
		if bad = append(bad, wrong...); len(bad) >= maxFaults {
			break
		}
	}
	if len(bad) > 0 {
		return nil, passive.ErrInvalidItems.Invalid(bad[:min(len(bad), maxFaults)]...)
	}
	return items, nil
}

// decodeItem decodes an item, or names its members that are wrong.
func decodeItem(raw json.RawMessage, path string) (w wireItem, bad []fault.Field) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields() // a misspelt timestamp would be a wrong history
	if err := d.Decode(&w); err == nil && string(raw) != "null" {
		return w, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return w, []fault.Field{{Field: path, Message: "must be an object"}}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		message := "must be a string"
		switch strings.ToLower(name) {
		case "address", "name", "timestamp", "quality":
			var text string
			if json.Unmarshal(members[name], &text) == nil {
				continue
			}
		case "value":
			continue
		default:
			name = runes.Shorten(name, 80)
			message = "is not a member of an item; its members are address, name, value, timestamp and quality"
		}
		bad = append(bad, fault.Field{Field: path + "." + name, Message: message})
	}
	return w, bad
}

func (w wireItem) read(path string) (item passive.Item, bad []fault.Field) {
	add := func(field, message string) { bad = append(bad, fault.Field{Field: path + field, Message: message}) }
	item = passive.Item{Address: w.Address}
	if w.Quality != "" {
		q, err := tags.ParseQuality(w.Quality)
		if err != nil {
			add("quality", "must be Good, Uncertain or Bad")
		}
		item.Quality = &q
	}
	if w.Timestamp != "" {
		at, err := time.Parse(time.RFC3339Nano, timestamp.Normalize(w.Timestamp))
		switch {
		case err != nil:
			add("timestamp", "must be an RFC 3339 time")
		case at.IsZero(): // for the driver it would be none
			add("timestamp", "is before 1970")
		}
		item.Time = at
	}
	value, err := scalar(w.Value)
	if err != nil {
		add("value", err.Error())
	}
	item.Value = value
	return item, bad
}

// scalar returns true, false, a json.Number, a string, or nil for null and what is missing.
func scalar(raw json.RawMessage) (value any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	switch value.(type) {
	case map[string]any, []any:
		return nil, errors.New("must be true, false, a number or a string")
	}
	return value, nil
}

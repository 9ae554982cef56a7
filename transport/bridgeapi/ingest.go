package bridgeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
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

const (
	maxItems  = 10_000 // of one request
	maxFaults = 20     // that an answer names
)

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
	items, err := readItems(body)
	if err != nil {
		return nil, err
	}
	bound := h.isBound()
	if err := h.Passive.Push(ctx, items); err != nil {
		return nil, err
	}
	if err := h.Host.Flush(ctx); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"accepted":%d,"buffered":%t}`, len(items), bound && h.isBound()), nil
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

// readItems reads one item, or a list of items. The error names each member that is wrong.
func readItems(body []byte) ([]passive.Item, error) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		var one wireItem
		if err := json.Unmarshal(body, &one); err != nil {
			return nil, problem.FromDecode(err)
		}
		item, bad := one.read("")
		if len(bad) > 0 {
			return nil, problem.ErrInvalidRequest.Invalid(bad...)
		}
		return []passive.Item{item}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, problem.FromDecode(err)
	}
	switch {
	case len(list) == 0:
		return nil, problem.ErrInvalidRequest.Because("the list has no item")
	case len(list) > maxItems:
		return nil, problem.ErrInvalidRequest.Because("the list has %d items, of at most %d", len(list), maxItems)
	}
	items := make([]passive.Item, len(list))
	var bad []fault.Field
	for i, raw := range list {
		path := fmt.Sprintf("[%d]", i)
		var one wireItem
		if err := json.Unmarshal(raw, &one); err != nil {
			bad = append(bad, fieldOf(path, err))
		} else {
			var wrong []fault.Field
			items[i], wrong = one.read(path + ".")
			bad = append(bad, wrong...)
		}
		if len(bad) >= maxFaults {
			break
		}
	}
	if len(bad) > 0 {
		return nil, problem.ErrInvalidRequest.Invalid(bad...)
	}
	return items, nil
}

// fieldOf names the member of an item that has the wrong type.
func fieldOf(path string, err error) fault.Field {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fault.Field{Field: path + "." + wrong.Field, Message: "must be a string, not a " + wrong.Value}
	}
	return fault.Field{Field: path, Message: "must be an object"}
}

func (w wireItem) read(path string) (item passive.Item, bad []fault.Field) {
	add := func(field, message string) { bad = append(bad, fault.Field{Field: path + field, Message: message}) }
	item = passive.Item{Name: w.Name, Address: w.Address, Quality: tags.Good}
	if (w.Name == "") == (w.Address == "") {
		add("name", "exactly one of name and address is required")
	}
	if w.Quality != "" {
		q, err := tags.ParseQuality(w.Quality)
		if err != nil {
			add("quality", "must be Good, Uncertain or Bad")
		}
		item.Quality = q
	}
	if w.Timestamp != "" {
		at, err := time.Parse(time.RFC3339Nano, timestamp.Normalize(w.Timestamp))
		if err != nil {
			add("timestamp", "must be an RFC 3339 time")
		}
		item.Time = at
	}
	switch value, err := scalar(w.Value); {
	case err != nil:
		add("value", err.Error())
	case value == nil && item.Quality != tags.Bad:
		add("value", "is required")
	default:
		item.Value = value
	}
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

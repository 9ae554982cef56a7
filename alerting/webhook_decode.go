package alerting

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
)

// payload is what is read of a body.
type payload[A any] struct {
	Alerts          []A             `json:"alerts"`
	TruncatedAlerts json.RawMessage `json:"truncatedAlerts"`
}

// decodePayload gives the alerts of a body and how many the sender has left out. An alert that cannot be
// read has an error.
func decodePayload(body []byte) ([]item, uint64, error) {
	var p payload[alertBody]
	if json.Unmarshal(body, &p) != nil {
		return decodeEach(body)
	}
	items := make([]item, len(p.Alerts))
	for i := range p.Alerts {
		items[i].alert, items[i].err = p.Alerts[i].alert()
	}
	return checkPayload(items, p.TruncatedAlerts)
}

// decodeEach decodes each alert by itself, which takes longer, so that a bad one is bad by itself.
func decodeEach(body []byte) ([]item, uint64, error) {
	var p payload[json.RawMessage]
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, 0, ErrInvalidPayload.Because("body is no JSON object with an array of alerts").Wrap(err)
	}
	items := make([]item, len(p.Alerts))
	for i, raw := range p.Alerts {
		var in alertBody
		if json.Unmarshal(raw, &in) != nil {
			items[i].err = errAlertShape
			continue
		}
		items[i].alert, items[i].err = in.alert()
	}
	return checkPayload(items, p.TruncatedAlerts)
}

func checkPayload(items []item, truncated json.RawMessage) ([]item, uint64, error) {
	if len(items) == 0 {
		return nil, 0, ErrInvalidPayload.Invalid(fault.Field{Field: "alerts", Message: "must not be empty"})
	}
	var n uint64
	if json.Unmarshal(truncated, &n) != nil {
		n = 0
	}
	return items, n, nil
}

// alert is one alert as it was sent, checked.
type alert struct {
	key         RecordKey
	resolved    bool
	endsAt      time.Time // zero when not given
	severity    alarms.Severity
	source      string
	sourceType  string
	title       string
	description string
	labels      map[string]string
	annotations map[string]string
}

// The reasons for which an alert cannot be read.
var (
	errAlertShape  = errors.New("is not an alert: labels and annotations must be objects of texts, status and times texts")
	errAlertStatus = errors.New("status must be firing or resolved")
	errAlertLabels = errors.New("labels are required")
	errAlertStarts = errors.New("startsAt must be a time such as 2026-01-31T12:00:00Z")
	errAlertEnds   = errors.New("endsAt must be a time such as 2026-01-31T12:00:00Z")
)

// alertBody is an alert in a body.
type alertBody struct {
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    string            `json:"startsAt"`
	EndsAt      json.RawMessage   `json:"endsAt"`
}

// alert checks an alert.
func (in *alertBody) alert() (alert, error) {
	if in.Status != "firing" && in.Status != "resolved" {
		return alert{}, errAlertStatus
	}
	if len(in.Labels) == 0 {
		return alert{}, errAlertLabels
	}
	starts, err := parseTime(in.StartsAt)
	if err != nil || starts.IsZero() {
		return alert{}, errAlertStarts
	}
	a := alert{
		key: RecordKey{Alarm: webhookKey + fingerprint(in.Labels), At: starts}, resolved: in.Status == "resolved",
		severity: webhookSeverity(in.Labels["severity"]), labels: in.Labels, annotations: in.Annotations,
	}
	if a.resolved { // what a firing alert says of its end means nothing
		if a.endsAt, err = optionalTime(in.EndsAt); err != nil {
			return alert{}, errAlertEnds
		}
	}
	a.describe()
	return a, nil
}

func (a *alert) describe() {
	l, n := a.labels, a.annotations
	a.source = firstSaid(l["source"], l["instance"], l["equipment"], l["device"], l["job"], l["alertname"], "unknown")
	a.sourceType = firstSaid(l["sourceType"], l["source_type"], "Equipment")
	a.title = firstSaid(n["summary"], n["title"], l["alertname"], a.source)
	a.description = firstSaid(n["description"], n["message"])
}

// firstSaid gives the first of some texts that is not blank, or nothing.
func firstSaid(texts ...string) string {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

func optionalTime(raw json.RawMessage) (time.Time, error) {
	var text string
	if len(raw) == 0 {
		return time.Time{}, nil
	}
	if err := json.Unmarshal(raw, &text); err != nil || text == "" {
		return time.Time{}, err
	}
	return parseTime(text)
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, err
	}
	return stamp(t), nil
}

// webhookSeverity maps the label severity: what is neither critical nor a warning is an Info.
func webhookSeverity(label string) alarms.Severity {
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "critical":
		return alarms.Critical
	case "warning":
		return alarms.Warning
	}
	return alarms.Info
}

// fingerprint is the same for equal sets of labels and for them only: half of a SHA-256 over the
// labels in order of their names, each text after its length.
func fingerprint(labels map[string]string) string {
	h := sha256.New()
	var size [8]byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		for _, text := range [...]string{name, labels[name]} {
			binary.BigEndian.PutUint64(size[:], uint64(len(text)))
			h.Write(size[:])
			h.Write([]byte(text))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

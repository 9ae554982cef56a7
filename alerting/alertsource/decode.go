package alertsource

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
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/timestamp"
)

// payload is what is read of a body.
type payload[A any] struct {
	Alerts          []A             `json:"alerts"`
	TruncatedAlerts json.RawMessage `json:"truncatedAlerts"`
	ExternalURL     json.RawMessage `json:"externalURL"`
	Receiver        json.RawMessage `json:"receiver"`
	GroupKey        json.RawMessage `json:"groupKey"`
}

// post is a decoded body.
type post struct {
	items   []item
	omitted uint64          // alerts that the sender left out
	sender  string          // tells senders apart
	group   string          // tells groups of alerts apart
	ends    map[string]bool // the alarms whose end it tells

	externalURL, receiver string // for people
}

// maxShown is how much of the name of a receiver is shown, in bytes.
const maxShown = 256

// decodePayload decodes a body that came from a network address. An alert that cannot be read has an error.
func decodePayload(peer string, body []byte) (post, error) {
	var p payload[alertBody]
	if json.Unmarshal(body, &p) != nil {
		return decodeEach(peer, body)
	}
	items := make([]item, len(p.Alerts))
	for i := range p.Alerts {
		items[i].alert, items[i].err = p.Alerts[i].alert()
	}
	return newPost(items, peer, p.TruncatedAlerts, p.ExternalURL, p.Receiver, p.GroupKey)
}

// decodeEach decodes each alert by itself, which takes longer, so that a bad one is bad by itself.
func decodeEach(peer string, body []byte) (post, error) {
	var p payload[json.RawMessage]
	if err := json.Unmarshal(body, &p); err != nil {
		return post{}, ErrInvalidPayload.Because("body is no JSON object with an array of alerts").Wrap(err)
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
	return newPost(items, peer, p.TruncatedAlerts, p.ExternalURL, p.Receiver, p.GroupKey)
}

func newPost(items []item, peer string, truncated, externalURL, receiver, groupKey json.RawMessage) (post, error) {
	if len(items) == 0 {
		return post{}, ErrInvalidPayload.Invalid(fault.Field{Field: "alerts", Message: "must not be empty"})
	}
	p := post{items: items, sender: hashTexts(peer, string(externalURL), string(receiver)), ends: make(map[string]bool)}
	p.group = hashTexts(p.sender, string(groupKey))
	if json.Unmarshal(truncated, &p.omitted) != nil {
		p.omitted = 0
	}
	for _, text := range []struct {
		raw  json.RawMessage
		into *string
	}{{externalURL, &p.externalURL}, {receiver, &p.receiver}} {
		if json.Unmarshal(text.raw, text.into) == nil {
			*text.into = canon.Cut(*text.into, maxShown)
		}
	}
	for i := range items {
		if items[i].err == nil && items[i].resolved {
			p.ends[items[i].key.Alarm] = true
		}
	}
	return p, nil
}

// alert is one alert as it was sent, checked.
type alert struct {
	key         alerting.RecordKey
	resolved    bool
	endsAt      time.Time // zero when not given
	severity    alarms.Severity
	source      string
	sourceType  string
	title       string
	description string
	labels      map[string]string
	annotations map[string]string
	truncated   []string // members that were too long
	digest      string   // changes with what a sender may say otherwise of an alert that lasts
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
		key: alerting.RecordKey{Alarm: alerting.ReceivedKeyPrefix + fingerprint(in.Labels), At: starts}, resolved: in.Status == "resolved",
		severity: webhookSeverity(in.Labels["severity"]), labels: in.Labels, annotations: in.Annotations,
	}
	if a.resolved { // what a firing alert says of its end means nothing
		if a.endsAt, err = optionalTime(in.EndsAt); err != nil {
			return alert{}, errAlertEnds
		}
	}
	a.describe()
	a.bound()
	a.digest = hashTexts(a.title, a.description, fingerprint(a.annotations))
	return a, nil
}

func (a *alert) describe() {
	l, n := a.labels, a.annotations
	a.source = firstNonBlank(l["source"], l["instance"], l["equipment"], l["device"], l["job"], l["alertname"], "unknown")
	a.sourceType = firstNonBlank(l["sourceType"], l["source_type"], "Equipment")
	a.title = firstNonBlank(n["summary"], n["title"], l["alertname"], a.source)
	a.description = firstNonBlank(n["description"], n["message"])
}

// firstNonBlank returns the first of some texts that is not blank, or nothing.
func firstNonBlank(texts ...string) string {
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
	t, err := timestamp.Parse(text)
	if err != nil {
		return time.Time{}, err
	}
	return canon.Time(t), nil
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
	texts := make([]string, 0, 2*len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		texts = append(texts, name, labels[name])
	}
	return hashTexts(texts...)
}

// hashTexts is the same for equal lists of texts and for them only.
func hashTexts(texts ...string) string {
	all := make([]byte, 0, 1<<10)
	for _, text := range texts {
		all = binary.BigEndian.AppendUint64(all, uint64(len(text)))
		all = append(all, text...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:16])
}

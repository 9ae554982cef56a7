package alerting

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
)

// conversion turns alerts into signals and records. The record of an alert is written after its alarm
// was raised, and says by being there that both were done: what was interrupted in between is done
// again when the sender repeats it, and raising twice does no harm.
type conversion struct {
	w     *Webhook
	now   time.Time
	index *SilenceIndex

	known map[RecordKey]bool                 // a record of this alert is there
	open  map[string]map[RecordKey]time.Time // by alarm: the records that are not complete and when they began

	signals     []alarms.Signal
	orphans     map[int]Record // by the place of a clearing signal: the record to add if it did clear an alarm
	records     []Record
	completions []Completion
}

func newConversion(w *Webhook, index *SilenceIndex, related []Record) *conversion {
	c := &conversion{
		w: w, now: stamp(w.o.Now()), index: index, known: make(map[RecordKey]bool),
		open: make(map[string]map[RecordKey]time.Time), orphans: make(map[int]Record),
	}
	for _, r := range related {
		c.remember(tableKey(r.Key), r.CompletedAt.IsZero())
	}
	return c
}

func (c *conversion) remember(k RecordKey, open bool) {
	c.known[k] = true
	if !open {
		delete(c.open[k.Alarm], k)
		return
	}
	if c.open[k.Alarm] == nil {
		c.open[k.Alarm] = make(map[RecordKey]time.Time)
	}
	c.open[k.Alarm][k] = k.At
}

func (c *conversion) isOpen(k RecordKey) bool {
	_, open := c.open[k.Alarm][k]
	return open
}

// add takes an alert in, and says whether there is anything to store for it.
func (c *conversion) add(a *alert) bool {
	switch {
	case c.known[a.key] && (!a.resolved || !c.isOpen(a.key)):
		return false // it came before
	case a.resolved:
		c.resolve(a)
	default:
		c.fire(a)
	}
	return true
}

// fire raises the alarm and adds the record. An alert that began before this one and is still open
// ended unheard of, at the latest when this one began; one that began later means that this one is
// heard of late and over.
func (c *conversion) fire(a *alert) {
	silence := ""
	if s, ok := c.index.Match(a.sourceType, a.source, c.now); ok {
		silence = s.ID
	}
	var earlier, later time.Time
	for k, began := range maps.Clone(c.open[a.key.Alarm]) {
		if began.Before(a.key.At) {
			earlier = began
			c.complete(k, a.key.At)
		} else if later.IsZero() || began.Before(later) {
			later = began
		}
	}
	c.records = append(c.records, c.record(a, silence))
	c.remember(a.key, true)
	if !later.IsZero() {
		c.complete(a.key, later)
		return
	}
	if !earlier.IsZero() {
		c.signals = append(c.signals, alarms.Signal{Key: a.key.Alarm, At: a.key.At})
	}
	c.signals = append(c.signals, alarms.Signal{Raise: a.alarm(silence)})
}

// resolve clears the alarm, unless an alert of the same labels has begun since and lasts, and
// completes the record. When there is no record and yet an alarm was active, the two were interrupted
// in between, and the record is made now.
func (c *conversion) resolve(a *alert) {
	ended := a.endsAt
	if ended.IsZero() {
		ended = c.now
	}
	if ended.Before(a.key.At) {
		ended = a.key.At
	}
	if c.known[a.key] {
		c.complete(a.key, ended)
	}
	if len(c.open[a.key.Alarm]) > 0 {
		return
	}
	c.signals = append(c.signals, alarms.Signal{Key: a.key.Alarm, At: ended})
	if !c.known[a.key] {
		r := c.record(a, "")
		r.CompletedAt = ended
		c.orphans[len(c.signals)-1] = r
	}
}

func (c *conversion) complete(k RecordKey, at time.Time) {
	c.completions = append(c.completions, Completion{Key: k, At: at})
	c.remember(k, false)
}

func (c *conversion) record(a *alert, silence string) Record {
	return Record{
		ID: c.w.o.NewID(), Key: a.key, Severity: a.severity, Source: a.source, SourceType: a.sourceType,
		Title: a.title, Description: a.description, Labels: withSilence(a.labels, silence), Annotations: a.annotations,
	}
}

// withSilence sets or removes the label of a silence: what the sender says there does not count.
func withSilence(labels map[string]string, silence string) map[string]string {
	labels = maps.Clone(labels)
	delete(labels, LabelSilencedBy)
	if silence != "" {
		labels[LabelSilencedBy] = silence
	}
	return labels
}

func (c *conversion) store(ctx context.Context) error {
	if len(c.signals) > 0 {
		results, err := c.w.alarms.Apply(ctx, c.signals)
		if err != nil {
			return err
		}
		for i, r := range c.orphans {
			if results[i].Changed == alarms.Cleared {
				c.records = append(c.records, r)
			}
		}
	}
	if len(c.records)+len(c.completions) == 0 {
		return nil
	}
	return c.w.history.ApplyRecords(ctx, c.records, c.completions)
}

// The most that an alarm takes; see package alarms. The record of an alert has it all.
const (
	alarmSource = 512
	alarmType   = 128
	alarmText   = 4096
	alarmLabels = 100
)

// alarm gives the alert in the form of an alarm. What is too long for one is cut off: an alarm with
// half of a text is better than none.
func (a *alert) alarm(silence string) *alarms.Alarm {
	labels := make(map[string]string, len(a.labels)+2)
	for _, name := range slices.Sorted(maps.Keys(a.labels)) {
		if name != LabelSilencedBy && len(labels) < alarmLabels-2 {
			labels[cut(name, alarmText)] = cut(a.labels[name], alarmText)
		}
	}
	if _, taken := labels[labelDescription]; !taken && a.description != "" {
		labels[labelDescription] = cut(a.description, alarmText)
	}
	if silence != "" {
		labels[LabelSilencedBy] = silence
	}
	return &alarms.Alarm{
		Key: a.key.Alarm, Source: cut(a.source, alarmSource), SourceType: cut(a.sourceType, alarmType),
		Message: cut(a.title, alarmText), Severity: a.severity, Labels: labels, At: a.key.At,
	}
}

// cut shortens a text to a number of bytes, between characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

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
// again when the sender repeats it, and raising twice does no harm. A repeat of what lasts raises again
// and one of an end clears again, so that whatever came in between is mended by the next repeat.
//
// A set of labels has one alert at a time, whoever tells of it: the two senders of a pair, or one that
// has been started again, may give one alert different beginnings. Which of two tellings is the newer
// is decided by the times of the senders, never by the order in which they arrive. A beginning that lies
// ahead of now is no later one: it was told by a clock that has been set back.
type conversion struct {
	w     *Webhook
	now   time.Time
	index *SilenceIndex

	known map[RecordKey]time.Time            // the records that are there and when they were completed
	open  map[string]map[RecordKey]time.Time // by alarm: the records that are not complete and when they began

	signals     []alarms.Signal
	orphans     map[int]Record // by the place of a clearing signal: the record to add if it did clear an alarm
	records     []Record
	completions []Completion
}

func newConversion(w *Webhook, index *SilenceIndex, related []Record) *conversion {
	c := &conversion{
		w: w, now: stamp(w.o.Now()), index: index, known: make(map[RecordKey]time.Time),
		open: make(map[string]map[RecordKey]time.Time), orphans: make(map[int]Record),
	}
	for _, r := range related {
		c.remember(tableKey(r.Key), r.CompletedAt)
	}
	return c
}

func (c *conversion) remember(k RecordKey, completed time.Time) {
	c.known[k] = completed
	if !completed.IsZero() {
		delete(c.open[k.Alarm], k)
		return
	}
	if c.open[k.Alarm] == nil {
		c.open[k.Alarm] = make(map[RecordKey]time.Time)
	}
	c.open[k.Alarm][k] = k.At
}

func (c *conversion) add(a *alert) {
	completed, again := c.known[a.key]
	switch {
	case a.resolved:
		c.resolve(a)
	case !again:
		c.fire(a)
	case completed.IsZero():
		c.signals = append(c.signals, alarms.Signal{Raise: a.alarm(c.silence(a))})
	}
}

// silence gives the id of the silence that an alert is under.
func (c *conversion) silence(a *alert) string {
	if s, ok := c.index.Match(a.sourceType, a.source, c.now); ok {
		return s.ID
	}
	return ""
}

// ahead says whether a clock that has been set back gave a time.
func (c *conversion) ahead(t time.Time) bool { return t.After(c.now.Add(alarms.ClockSlack)) }

// fire raises the alarm and adds the record. When an alert of the same labels lasts, the alarm stands
// as it is, since nobody is to be told twice of one thing that is wrong: the one of the two that began
// later is the one that lasts from now on, and the record of the other is complete when it began. So
// each beginning that a sender gives has a record, and what is said of it again or late is known.
func (c *conversion) fire(a *alert) {
	silence := c.silence(a)
	var later time.Time
	for k, began := range maps.Clone(c.open[a.key.Alarm]) {
		if began.Before(a.key.At) || c.ahead(began) {
			c.complete(k, latest(a.key.At, began))
		} else if later.IsZero() || began.Before(later) {
			later = began
		}
	}
	c.records = append(c.records, c.record(a, silence))
	c.remember(a.key, time.Time{})
	if !later.IsZero() {
		c.complete(a.key, later)
		return
	}
	c.signals = append(c.signals, alarms.Signal{Raise: a.alarm(silence)})
}

// resolve completes the record of the alert of these labels that lasts and clears the alarm, whatever
// beginning the sender gives it. It does neither when the alert that lasts began after the end that is
// told of, or after the beginning where no end is given: this is late word of an earlier one. When no
// record lasts, an alarm that is active all the same and is no later is cleared; the record of an alert
// that has none, since it was interrupted in between, is made now.
func (c *conversion) resolve(a *alert) {
	heard, ended := a.endsAt, a.endsAt
	if a.endsAt.IsZero() {
		heard, ended = a.key.At, c.now
	}
	if ended.After(c.now) { // nothing has ended that is not over
		ended = c.now
	}
	ended = latest(ended, a.key.At)
	completed, known := c.known[a.key]
	lasting := maps.Clone(c.open[a.key.Alarm])
	if len(lasting) == 0 {
		c.signals = append(c.signals, alarms.Signal{Key: a.key.Alarm, At: ended, NotAfter: latest(heard, a.key.At)})
		if !known {
			r := c.record(a, "")
			r.CompletedAt = ended
			c.orphans[len(c.signals)-1] = r
		}
		return
	}
	if !completed.IsZero() && !heard.After(completed) {
		return // it came before
	}
	for k, began := range lasting {
		if k == a.key || !heard.Before(began) || c.ahead(began) {
			ended = latest(ended, began)
			c.complete(k, ended)
		}
	}
	if len(c.open[a.key.Alarm]) == 0 {
		c.signals = append(c.signals, alarms.Signal{Key: a.key.Alarm, At: ended})
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (c *conversion) complete(k RecordKey, at time.Time) {
	c.completions = append(c.completions, Completion{Key: k, At: at})
	c.remember(k, at)
}

func (c *conversion) record(a *alert, silence string) Record {
	return Record{
		ID: c.w.o.NewID(), Key: a.key, Severity: a.severity, Source: cut(a.source, alarmSource), SourceType: cut(a.sourceType, alarmType),
		Title: a.title, Description: a.description, Labels: withSilence(a.labels, silence), Annotations: a.annotations,
	}
}

// withSilence sets or removes the label of a silence: what the sender says there does not count.
func withSilence(labels map[string]string, silence string) map[string]string {
	if _, said := labels[LabelSilencedBy]; !said && silence == "" {
		return labels
	}
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

// The most that an alarm takes; see package alarms. The record of an alert has it all, but for its source and
// the type of that: records are found by them.
const (
	alarmSource = 512
	alarmType   = 128
	alarmText   = 4096
	alarmLabels = 100
)

// alarm gives the alert in the form of an alarm. What is too long for one is cut off: an alarm with
// half of a text is better than none.
func (a *alert) alarm(silence string) *alarms.Alarm {
	names := maps.Keys(a.labels)
	if len(a.labels) > alarmLabels-2 {
		names = slices.Values(slices.Sorted(names)) // the same ones each time
	}
	labels := make(map[string]string, min(len(a.labels)+2, alarmLabels))
	for name := range names {
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

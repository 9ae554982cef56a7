package alertsource

import (
	"context"
	"maps"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/silences"
)

// conversion turns alerts into signals and records. The record of an alert is written after its alarm
// was raised, so its existence shows that both were done: what was interrupted in between is done
// again when the sender repeats it, and raising twice does no harm. A repeat of what lasts raises again
// and one of an end clears again, so that the next repeat corrects whatever came in between.
//
// A set of labels has one alert at a time, whoever reports it: the two senders of a pair, or one that
// has been started again, may give one alert different beginnings. Which of two reports is the newer
// is decided by the times of the senders, never by the order in which they arrive. A beginning that is
// ahead of now is not a later one: it is from a clock that has been set back.
type conversion struct {
	w     *Receiver
	post  *post
	now   time.Time
	index *silences.Index

	known map[alerting.RecordKey]time.Time            // the records that are there and when they were completed
	open  map[string]map[alerting.RecordKey]time.Time // by alarm: the records that are not complete and when they began
	ends  map[string]history.End                      // by alarm: the last end that was reported

	signals     []alarms.Signal
	orphans     map[int]alerting.Record // by the place of a clearing signal: the record to add if it did clear an alarm
	records     []alerting.Record
	updates     []alerting.Record
	digests     map[alerting.RecordKey]string // of the records that are not complete
	completions []history.Completion
	newEnds     map[string]bool // alarms whose ends are to be stored

	added     int  // records that are not complete, less those that become so
	recounted bool // the records of firing alerts were counted for this conversion
}

func newConversion(w *Receiver, p *post, index *silences.Index, related history.Related) *conversion {
	c := &conversion{
		w: w, post: p, now: canon.Time(w.o.Now()), index: index, known: make(map[alerting.RecordKey]time.Time),
		open: make(map[string]map[alerting.RecordKey]time.Time), orphans: make(map[int]alerting.Record),
		digests: make(map[alerting.RecordKey]string), ends: make(map[string]history.End), newEnds: make(map[string]bool),
	}
	for _, r := range related.Records {
		c.remember(r.Key.Canonical(), r.CompletedAt)
		c.digests[r.Key.Canonical()] = r.Digest
	}
	for _, e := range related.Ends {
		c.ends[e.Alarm] = e
	}
	return c
}

func (c *conversion) remember(k alerting.RecordKey, completed time.Time) {
	c.known[k] = completed
	if !completed.IsZero() {
		delete(c.open[k.Alarm], k)
		return
	}
	if c.open[k.Alarm] == nil {
		c.open[k.Alarm] = make(map[alerting.RecordKey]time.Time)
	}
	c.open[k.Alarm][k] = k.At
}

// add takes an alert in and returns why it cannot be, and what failed.
func (c *conversion) add(ctx context.Context, a *alert) (refused, err error) {
	completed, again := c.known[a.key]
	switch {
	case a.resolved:
		c.resolve(a)
	case !again:
		return c.begin(ctx, a)
	case completed.IsZero():
		c.repeat(a)
	default:
		if a = c.fireAgain(a, completed); a != nil {
			return c.begin(ctx, a)
		}
	}
	return nil, nil
}

// begin has an alert fire for which there is room.
func (c *conversion) begin(ctx context.Context, a *alert) (refused, err error) {
	if ok, err := c.takeRoom(ctx, a); !ok || err != nil {
		return errNoRoom, err
	}
	c.fire(a)
	return nil, nil
}

// repeat raises what lasts once more, which changes nothing, and updates the record if the sender describes it differently.
func (c *conversion) repeat(a *alert) {
	raise := a.alarm(c.silence(a))
	raise.Refresh = []string{alerting.LabelDescription}
	c.signals = append(c.signals, alarms.Signal{Raise: raise})
	if digest := a.digest; c.digests[a.key] != digest {
		c.digests[a.key] = digest
		c.updates = append(c.updates, alerting.Record{Key: a.key, Title: a.title, Description: a.description, Annotations: a.annotations,
			Truncated: a.truncated, Digest: digest})
	}
}

// silence returns the id of the silence that an alert is under.
func (c *conversion) silence(a *alert) string {
	if s, ok := c.index.Match(a.sourceType, a.source, c.now); ok {
		return s.ID
	}
	return ""
}

// ahead reports whether a clock that has been set back gave a time.
func (c *conversion) ahead(t time.Time) bool { return t.After(c.now.Add(alarms.MaxClockSkew)) }

// fire raises the alarm and adds the record. When an alert of the same labels lasts, the alarm stays
// as it is, so that nobody is notified twice of one fault: the one of the two that began
// later is the one that lasts from now on, and the record of the other is complete when it began. So
// each beginning that a sender gives has a record, and repeated or late reports of it are recognized.
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
	c.added++
	c.digests[a.key] = a.digest
	c.remember(a.key, time.Time{})
	if !later.IsZero() {
		c.complete(a.key, later)
		return
	}
	c.signals = append(c.signals, alarms.Signal{Raise: a.alarm(silence)})
}

// resolve completes the record of the alert of these labels that lasts and clears the alarm, whatever
// beginning the sender gives it. It does neither when the alert that lasts began after the reported end,
// or after the beginning where no end is given: this is a late report of an earlier one. When no
// record lasts, an alarm that is active all the same and is not later is cleared; the record of an alert
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
	if !c.ahead(heard) && c.toldBefore(a, &heard) {
		return
	}
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
		if a.endsAt.IsZero() || c.ahead(a.endsAt) {
			heard = ended
		}
		c.keepEnd(history.End{Alarm: a.key.Alarm, At: latest(heard, ended), ToldAt: c.now, By: []string{c.post.sender}})
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (c *conversion) complete(k alerting.RecordKey, at time.Time) {
	c.completions = append(c.completions, history.Completion{Key: k, At: at})
	c.added--
	c.remember(k, at)
}

func (c *conversion) record(a *alert, silence string) alerting.Record {
	return alerting.Record{
		ID: c.w.o.NewID(), Key: a.key, Severity: a.severity, Source: canon.Cut(a.source, alarmSource), SourceType: canon.Cut(a.sourceType, alarmType),
		Title: a.title, Description: a.description, Labels: withSilenceLabel(a.labels, silence), Annotations: a.annotations,
		Truncated: a.truncated, Digest: a.digest,
	}
}

// withSilenceLabel sets or removes the label of a silence. The sender cannot set it.
func withSilenceLabel(labels map[string]string, silence string) map[string]string {
	if _, said := labels[alerting.LabelSilencedBy]; !said && silence == "" {
		return labels
	}
	labels = maps.Clone(labels)
	delete(labels, alerting.LabelSilencedBy)
	if silence != "" {
		labels[alerting.LabelSilencedBy] = silence
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
	if len(c.records)+len(c.updates)+len(c.completions)+len(c.newEnds) == 0 {
		return nil
	}
	changes := history.Changes{Add: c.records, Update: c.updates, Complete: c.completions}
	for alarm := range c.newEnds {
		changes.Ends = append(changes.Ends, c.ends[alarm])
	}
	return c.w.history.ApplyRecords(ctx, changes)
}

// alarm returns the alert in the form of an alarm. What is too long for one is cut off: an alarm with
// half of a text is better than none.
func (a *alert) alarm(silence string) *alarms.Alarm {
	labels := canon.Pairs{Count: alarmLabels - 2, Name: alerting.MaxPairName, Value: alarmText, Total: alarmBytes}.Bound(withSilenceLabel(a.labels, ""))
	if _, taken := labels[alerting.LabelDescription]; !taken && a.description != "" {
		labels[alerting.LabelDescription] = canon.Cut(a.description, alarmText)
	}
	if silence != "" {
		labels[alerting.LabelSilencedBy] = silence
	}
	return &alarms.Alarm{
		Key: a.key.Alarm, Source: canon.Cut(a.source, alarmSource), SourceType: canon.Cut(a.sourceType, alarmType),
		Message: canon.Cut(a.title, alarmText), Severity: a.severity, Labels: labels, At: a.key.At,
		Cause: alarms.Cause{Instructions: canon.Cut(firstNonBlank(a.annotations["instructions"], a.annotations["runbook"], a.annotations["runbook_url"]), alarmText)},
	}
}

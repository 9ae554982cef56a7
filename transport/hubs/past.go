package hubs

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/silences"
)

const (
	pastTimeout = 2 * time.Second        // of reading the journal of one occurrence
	pastRetry   = 10 * time.Second       // after a failure the journal is not read for this time
	pastTime    = 500 * time.Millisecond // of reading it for events that came together: the next ones wait for it
)

// past returns what became of an occurrence that is not held, or was found at the start: whether a message was sent, and whether one
// waits for the end of a silence. It does not look at events from before on; 0 for all.
//
// The journal and the silences show what an earlier process has sent. They are read only if the occurrence alone does not show it.
func (d *Dashboard) past(ctx context.Context, o *alarms.Occurrence, before int64, active activeSilences) heldAlarm {
	some, all := false, true
	for s := alarms.Info; s <= o.Severity; s++ { // an occurrence only becomes more severe
		shows := d.o.Shows(s)
		some, all = some || shows, all && shows
	}
	old := d.isEarlier(o)
	held := d.held[o.ID] != nil
	if held { // a silence may have been deleted since
		active = d.loaded
	}
	switch {
	case !some:
		return heldAlarm{occurrence: *o}
	case all && !held && (!old || active.none() && o.Suppression == 0 && !o.Acknowledged()):
		return heldAlarm{occurrence: *o, sent: true}
	}
	h, err := d.replay(ctx, o, before, active)
	if err != nil { // what is likely
		h = heldAlarm{occurrence: *o, sent: true}
		if old && (o.Suppression != 0 || active.silence(o, o.ClearedAt)) {
			h.sent, h.waiting = false, !settled(o)
		}
	}
	return h
}

// isEarlier reports whether an occurrence was raised before the Dashboard started.
func (d *Dashboard) isEarlier(o *alarms.Occurrence) bool { return d.first == 0 || o.Seq < d.first }

var errPastUnread = errors.New("hubs: the journal could not be read a short time ago, or not in time")

// replay decides again what [Dashboard.receive] has decided about the events of an occurrence.
func (d *Dashboard) replay(ctx context.Context, o *alarms.Occurrence, before int64, active activeSilences) (heldAlarm, error) {
	if d.o.Now().Before(d.pastAfter) || !d.pastUntil.IsZero() && time.Now().After(d.pastUntil) {
		return heldAlarm{}, errPastUnread
	}
	ctx, cancel := context.WithTimeout(ctx, pastTimeout)
	defer cancel()
	covered := coverage(active.index.Matching(o.SourceType, o.Source))
	h := heldAlarm{occurrence: *o}
	var last time.Time
	released := d.o.Now() // until when it was sent if no silence held for it
	if d.held[o.ID] != nil {
		released = d.began
	}
	for page := 1; ; page++ {
		events, total, err := d.journal.EventsOf(ctx, o.ID, page, alarms.MaxPageSize)
		if err != nil {
			d.pastAfter = d.o.Now().Add(pastRetry)
			return h, err
		}
		for i := range events {
			e := &events[i]
			if before > 0 && e.Seq >= before {
				continue
			}
			at := journaledAt(e)
			h.release(covered, last, earlier(at, released))
			d.repeat(&h, e, covered.holds(at, at) || covered.holds(e.At, at))
			last = at
		}
		if page*alarms.MaxPageSize >= total {
			break
		}
	}
	if last.IsZero() {
		return h, errPastUnread // its events were removed
	}
	h.release(covered, last, released)
	return h, nil
}

// repeat does to h what an event did when it was received.
func (d *Dashboard) repeat(h *heldAlarm, e *alarms.Event, silenced bool) {
	o := &e.Occurrence
	shows := d.o.Shows(o.Severity)
	if shows {
		h.occurrence = *o
	}
	switch {
	case e.Kind.Ends():
		h.waiting = false
	case announces(e) && shows:
		h.waiting, h.sent = silenced, h.sent || !silenced
	default:
		h.waiting = h.waiting && !settled(o)
	}
}

// release notes that what waited was sent if no silence held at some moment between two times.
func (h *heldAlarm) release(covered coverage, from, to time.Time) {
	if h.waiting && covered.endsBetween(from, to) {
		h.waiting, h.sent = false, true
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// journaledAt returns when an event was stored, which may be long after it happened.
func journaledAt(e *alarms.Event) time.Time {
	id, err := uuid.Parse(e.ID)
	if err != nil {
		return e.At
	}
	sec, nsec := id.Time().UnixTime()
	if at := time.Unix(sec, nsec); at.After(e.At) {
		return at
	}
	return e.At
}

// coverage is the silences of one source.
type coverage []silences.Silence

// holds reports whether a silence holds at a time and was there at another.
func (c coverage) holds(at, known time.Time) bool {
	for _, s := range c {
		if s.ActiveAt(at) && !s.CreatedAt.After(known) {
			return true
		}
	}
	return false
}

// endsBetween reports whether there is a moment from one time until just before another at which no silence holds.
func (c coverage) endsBetween(from, to time.Time) bool {
	for from.Before(to) {
		end := from
		for _, s := range c {
			if s.ActiveAt(from) && !s.CreatedAt.After(from) && s.EndsAt.After(end) {
				end = s.EndsAt
			}
		}
		if end.Equal(from) {
			return true
		}
		from = end
	}
	return false
}
